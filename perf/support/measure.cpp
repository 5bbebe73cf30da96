#include "perf/support/measure.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iomanip>
#include <limits>
#include <ostream>

#include "perf/support/evict.h"
#include "perf/support/parallel.h"
#include "perf/support/resident.h"
#include "perf/support/twin.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

// Fewer where they take long together.
constexpr int kMostRepetitions = 21, kLeastRepetitions = 5;
constexpr double kCaseSeconds = 1.5;
constexpr int kMostFirstCalls = 5, kLeastFirstCalls = 2;
constexpr double kFirstCallSeconds = 0.4;

// A case in memory, with its twin, and what is to be timed.
class Bench {
 public:
  Bench(Case& measured, Result& result)
      : case_(measured),
        twin_(result.work.read_bytes, result.work.write_bytes, result.threads, measured.largest_input()) {}

  void time_warm(Result& result) {
    const auto floor = case_.floor();
    const auto baselines = case_.baselines();
    // The twin is repeated as the operator is, so that both find the caches alike.
    const auto [calls, seconds] = repetition_of(run_);
    auto entries = own_entries(calls, nullptr);
    double all_seconds = 3 * seconds;
    const auto add = [&](const std::string& name, const std::function<void()>& run) {
      const auto repetition = repetition_of(run);
      entries.push_back({name, run, repetition.calls});
      all_seconds += repetition.seconds;
    };
    for (const Baseline& baseline : baselines) add(baseline.name, baseline.run);
    if (floor) add("floor", floor);
    const auto samples = time_own(result, entries, repetitions_of(all_seconds));
    for (size_t i = 0; i < baselines.size(); ++i) {
      result.baselines.push_back({baselines[i].name, samples[kOwnEntries + i]});
    }
    if (floor) result.floor = samples.back();
    const int first_calls = static_cast<int>(
        std::clamp(kFirstCallSeconds / median(result.latency), double{kLeastFirstCalls}, double{kMostFirstCalls}));
    result.first_call =
        time_in_turns({{"first_call", run_, 1, [this] { case_.renew_handle(); }}}, first_calls).front();
  }

  void time_cold(Result& result) {
    Evictor evictor;
    const auto evict = [&] { evictor.run(); };
    const double seconds = repetition_of(evict).seconds + repetition_of(run_).seconds;
    time_own(result, own_entries(1, evict), repetitions_of(3 * seconds));
  }

 private:
  static constexpr size_t kOwnEntries = 3;

  static int repetitions_of(double seconds_of_one) {
    return static_cast<int>(
        std::clamp(kCaseSeconds / seconds_of_one, double{kLeastRepetitions}, double{kMostRepetitions}));
  }

  std::vector<Timed> own_entries(int64_t calls, const std::function<void()>& before) {
    return {{"operator", run_, calls, before},
            {"twin_ordinary", [this] { twin_.run(Stores::kOrdinary); }, calls, before},
            {"twin_non_temporal", [this] { twin_.run(Stores::kNonTemporal); }, calls, before}};
  }

  static std::vector<Samples> time_own(Result& result, const std::vector<Timed>& entries, int repetitions) {
    auto samples = time_in_turns(entries, repetitions);
    result.latency = samples[0];
    result.twin_ordinary = samples[1];
    result.twin_non_temporal = samples[2];
    return samples;
  }

  Case& case_;
  Twin twin_;
  std::function<void()> run_ = [this] { case_.run(); };
};

void measure_into(std::vector<Result>& results, const CaseSpec& spec, const Settings& settings,
                  std::ostream& progress) {
  progress << " preparing ..." << std::flush;
  set_thread_count(settings.threads);
  const auto measured = spec.prepare(settings.size.factor);
  Result& shared = results.front();
  shared.work = measured->work();
  if (const auto footprint = measured->footprint()) {
    const auto growth = resident_growth([&] { measured->run(); });
    if (growth) shared.memory = {*footprint, *growth};
  }
  progress << " verifying ..." << std::flush;
  shared.problem = measured->verify();
  if (!shared.problem.empty()) return;
  shared.checksum = measured->checksum();
  progress << ' ' << checksum_text(shared.checksum) << ", timing ..." << std::flush;
  Bench bench(*measured, shared);
  results.resize(settings.caches.size(), shared);
  for (size_t i = 0; i < results.size(); ++i) {
    Result& result = results[i];
    result.cache = settings.caches[i];
    if (result.cache == Cache::kWarm) {
      bench.time_warm(result);
    } else {
      result.memory.reset();
      bench.time_cold(result);
    }
    progress << ' ' << std::fixed << std::setprecision(3) << median(result.latency) * 1e3 << " ms"
             << (result.cache == Cache::kCold ? " cold" : "") << std::flush;
  }
  progress << std::endl;
}

double overhead(const std::optional<Memory>& memory) {
  if (!memory) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(memory->provided.workspace_bytes + memory->resident_growth) /
         static_cast<double>(memory->provided.tensor_bytes);
}

}  // namespace

Figures figures(const Result& result, const std::map<int, double>& fma_peak) {
  const double latency = median(result.latency);
  const double twin = std::min(median(result.twin_ordinary), median(result.twin_non_temporal));
  const auto ops = static_cast<double>(result.work.ops);
  const double compute = ops / fma_peak.at(result.threads);
  const double floor = median(result.floor);
  const double limit =
      std::isnan(floor) ? std::numeric_limits<double>::quiet_NaN() : std::max({twin, compute, floor}) / latency;
  std::vector<double> speed_ups;
  for (const NamedSamples& baseline : result.baselines) speed_ups.push_back(median(baseline.samples) / latency);
  return {latency,
          twin,
          median(result.first_call),
          ops / latency,
          twin / latency,
          compute / latency,
          twin >= compute,
          std::max(twin, compute) / latency,
          floor,
          limit,
          speed_ups,
          overhead(result.memory)};
}

std::string cache_name(Cache cache) { return cache == Cache::kWarm ? "warm" : "cold"; }

std::vector<Result> measure(const CaseSpec& spec, const Settings& settings, std::ostream& progress) {
  Result unmeasured;
  unmeasured.op = spec.op;
  unmeasured.name = spec.name;
  unmeasured.dtype = spec.dtype;
  unmeasured.mode = spec.mode;
  unmeasured.size = settings.size;
  unmeasured.threads = settings.threads;
  std::vector<Result> results{unmeasured};
  try {
    measure_into(results, spec, settings, progress);
  } catch (const std::exception& error) {
    results.resize(1);
    results.front().problem = error.what();
  }
  if (!results.front().problem.empty()) progress << " FAILED: " << results.front().problem << std::endl;
  return results;
}

}  // namespace mluop::perf
