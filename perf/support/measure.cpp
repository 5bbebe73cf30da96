#include "perf/support/measure.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <ostream>

#include "perf/support/measures.h"
#include "perf/support/table.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// The number of repetitions follows from the time limit of a case, within minimum and maximum.
constexpr double kMaxRepetitions = 21, kMinRepetitions = 5, kCaseSeconds = 1.5;
constexpr double kMaxFirstCalls = 5, kMinFirstCalls = 2, kFirstCallSeconds = 0.4;
// Other processes that use less do not count. A disturbed case is timed once more.
constexpr double kQuietLoad = 0.15;
constexpr int kAttempts = 2;

// The value of a line of /proc/self/status, in bytes.
std::optional<int64_t> status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string label; status >> label;) {
    int64_t kib = 0;
    if (label == name + ':' && status >> kib) return kib * 1024;
  }
  return std::nullopt;
}

// Bytes by which the peak of resident memory during `run` exceeds the resident memory before. First releases
// unused memory of the allocator. The error is a few hundred KiB. Nothing without Linux's /proc.
std::optional<int64_t> resident_growth(const std::function<void()>& run) {
  malloc_trim(0);
  const auto before = status_bytes("VmRSS");
  // Sets the peak to the current resident memory.
  const bool reset = static_cast<bool>(std::ofstream("/proc/self/clear_refs") << '5' << std::flush);
  run();
  const auto peak = status_bytes("VmHWM");
  if (!before || !reset || !peak) return std::nullopt;
  return std::max(*peak - *before, int64_t{0});
}

// Returns a function that reads and writes memory of twice the size of the LLC, at least 64 and at most 512 MiB,
// because virtual machines report the LLC of the host.
std::function<void()> evictor() {
  int64_t llc_bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  llc_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  const int64_t lines = std::clamp(2 * llc_bytes, int64_t{64} << 20, int64_t{512} << 20) / kLineBytes;
  const auto memory = std::make_shared<Buffer<uint64_t>>(lines * kLineWords);
  return [=] { parallel_for(lines, [&](int64_t line) { ++memory->data()[line * kLineWords]; }); };
}

int repetitions_for(double seconds_per_repetition) {
  return static_cast<int>(std::clamp(kCaseSeconds / seconds_per_repetition, kMinRepetitions, kMaxRepetitions));
}

// The operator and the stream bound.
std::vector<Timed> base_entries(Case& measured, StreamBound& bound, Result& result, int64_t calls,
                                const std::function<void()>& before) {
  return {{result.latency, [&] { measured.run(); }, calls, before},
          {result.stream_bound_ordinary, [&] { bound.run(Stores::kOrdinary); }, calls, before},
          {result.stream_bound_non_temporal, [&] { bound.run(Stores::kNonTemporal); }, calls, before}};
}

void time_warm(Case& measured, StreamBound& stream_bound, Result& result) {
  const auto run = [&] { measured.run(); };
  const auto algorithmic_bound = measured.algorithmic_bound();
  const auto baselines = measured.baselines();
  // As many calls of the stream bound as of the operator, so that the caches are in the same state.
  const auto [calls, seconds] = repetition_of(run);
  auto entries = base_entries(measured, stream_bound, result, calls, nullptr);
  double all_seconds = 3 * seconds;
  const auto add = [&](Samples& samples, const std::function<void()>& other, const Repetition& repetition) {
    entries.push_back({samples, other, repetition.calls});
    all_seconds += repetition.seconds;
  };
  result.baselines.reserve(baselines.size());
  for (const auto& [name, baseline] : baselines) {
    Samples& samples = result.baselines.emplace_back(NamedSamples{name, {}}).samples;
    const auto repetition = repetition_of(baseline);
    if (repetition.seconds > kLongCallSeconds) {
      samples = {repetition.seconds};
    } else {
      add(samples, baseline, repetition);
    }
  }
  if (algorithmic_bound) add(result.algorithmic_bound, algorithmic_bound, repetition_of(algorithmic_bound));
  time_interleaved(entries, repetitions_for(all_seconds));
  result.steps = measured.steps();
  const double first_calls = kFirstCallSeconds / median(result.latency);
  time_interleaved({{result.first_call, run, 1, [&] { measured.renew_handle(); }}},
                   static_cast<int>(std::clamp(first_calls, kMinFirstCalls, kMaxFirstCalls)));
}

void time_cold(Case& measured, StreamBound& stream_bound, Result& result) {
  const auto evict = evictor();
  const double seconds = repetition_of(evict).seconds + repetition_of([&] { measured.run(); }).seconds;
  time_interleaved(base_entries(measured, stream_bound, result, 1, evict), repetitions_for(3 * seconds));
}

void measure_into(MeasuredCase& measured, const CaseSpec& spec, const Settings& settings, std::ostream& progress) {
  progress << " preparing ..." << std::flush;
  set_thread_count(settings.threads);
  measured.prepared = spec.prepare(settings.size.factor);
  Case& prepared = *measured.prepared;
  Result& shared = measured.results.front();
  shared.work = prepared.work();
  if (auto memory = prepared.memory()) {
    const auto growth = resident_growth([&] { prepared.run(); });
    memory->resident_growth = growth.value_or(0);
    if (growth) shared.memory = memory;
  }
  progress << " verifying ..." << std::flush;
  shared.problem = prepared.verify();
  if (!shared.problem.empty()) return;
  shared.checksum = prepared.checksum();
  progress << ' ' << checksum_text(shared.checksum) << ", timing ..." << std::flush;
  StreamBound stream_bound(shared.work.read_bytes, shared.work.write_bytes, shared.threads,
                           prepared.largest_input());
  measured.results.resize(settings.caches.size(), shared);
  for (size_t i = 0; i < measured.results.size(); ++i) {
    Result& result = measured.results[i];
    result.cache = settings.caches[i];
    if (result.cache == Cache::kCold) result.memory.reset();
    const Result untimed = result;
    for (int attempt = 1;; ++attempt) {
      const OtherLoad load;
      if (result.cache == Cache::kWarm) {
        time_warm(prepared, stream_bound, result);
      } else {
        time_cold(prepared, stream_bound, result);
      }
      result.other_load = load.processors();
      if (!result.is_disturbed() || attempt == kAttempts) break;
      progress << " the machine is busy, again ..." << std::flush;
      result = untimed;
    }
    progress << ' ' << figure(median(result.latency) * 1e3, 3, " ms")
             << (result.cache == Cache::kCold ? " cold" : "") << std::flush;
  }
  progress << std::endl;
}

}  // namespace

bool Result::is_disturbed() const {
  const int idle = processor_count() - threads;
  return other_load > std::max(idle, 0) + kQuietLoad;
}

Figures::Figures(const Result& result)
    : latency(median(result.latency)),
      stream_bound(std::min(median(result.stream_bound_ordinary), median(result.stream_bound_non_temporal))),
      compute_bound(static_cast<double>(result.work.ops) / result.fma_peak),
      algorithmic_bound(median(result.algorithmic_bound)),
      io_efficiency(stream_bound / latency),
      compute_efficiency(compute_bound / latency),
      max_bound_efficiency(std::isnan(algorithmic_bound)
                               ? kNaN
                               : std::max({stream_bound, compute_bound, algorithmic_bound}) / latency) {}

double speed_up(const Result& result, const std::string& baseline) {
  const auto found = std::ranges::find(result.baselines, baseline, &NamedSamples::name);
  return found == result.baselines.end() ? kNaN : median(found->samples) / median(result.latency);
}

std::string cache_name(Cache cache) { return cache == Cache::kWarm ? "warm" : "cold"; }

std::string title(const Result& result, bool with_size) {
  std::string text =
      result.name + ' ' + result.dtype + ' ' + result.algorithm + " t" + std::to_string(result.threads);
  if (with_size && result.size.name != "1") text += " x" + result.size.name;
  if (result.cache == Cache::kCold) text += " cold";
  return text;
}

MeasuredCase measure(const CaseSpec& spec, const Settings& settings, std::ostream& progress) {
  Result unmeasured;
  static_cast<CaseName&>(unmeasured) = spec;
  unmeasured.size = settings.size;
  unmeasured.threads = settings.threads;
  MeasuredCase measured{nullptr, {unmeasured}};
  try {
    measure_into(measured, spec, settings, progress);
  } catch (const std::exception& error) {
    measured.results.resize(1);
    measured.results.front().problem = error.what();
  }
  const std::string& problem = measured.results.front().problem;
  if (!problem.empty()) progress << " FAILED: " << problem << std::endl;
  return measured;
}

}  // namespace mluop::perf
