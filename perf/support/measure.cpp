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
#include "perf/support/stream_bound.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

// The number of repetitions follows from the time limit of a case, between minimum and maximum.
constexpr int kMaxRepetitions = 21, kMinRepetitions = 5;
constexpr double kCaseSeconds = 1.5;
constexpr int kMaxFirstCalls = 5, kMinFirstCalls = 2;
constexpr double kFirstCallSeconds = 0.4;

// Times a prepared case with its bounds and baselines.
class Bench {
 public:
  Bench(Case& measured, Result& result)
      : case_(measured),
        stream_bound_(result.work.read_bytes, result.work.write_bytes, result.threads, measured.largest_input()) {}

  void time_warm(Result& result) {
    const auto algorithmic_bound = case_.algorithmic_bound();
    const auto baselines = case_.baselines();
    // As many calls of the stream bound as of the operator, so that the state of the caches is the same.
    const auto [calls, seconds] = repetition_of(run_);
    auto entries = base_entries(calls, nullptr);
    double all_seconds = 3 * seconds;
    const auto add = [&](const std::string& name, const std::function<void()>& run, const Repetition& repetition) {
      entries.push_back({name, run, repetition.calls});
      all_seconds += repetition.seconds;
    };
    for (const Baseline& baseline : baselines) {
      const auto repetition = repetition_of(baseline.run);
      const bool once = repetition.seconds > kLongCallSeconds;
      result.baselines.push_back({baseline.name, once ? Samples{repetition.seconds} : Samples{}});
      if (!once) add(baseline.name, baseline.run, repetition);
    }
    if (algorithmic_bound) add("algorithmic_bound", algorithmic_bound, repetition_of(algorithmic_bound));
    const auto samples = time_entries(result, entries, repetitions_for(all_seconds));
    auto next = samples.begin() + kBaseEntries;
    for (NamedSamples& baseline : result.baselines) {
      if (baseline.samples.empty()) baseline.samples = *next++;
    }
    if (algorithmic_bound) result.algorithmic_bound = samples.back();
    const int first_calls = static_cast<int>(
        std::clamp(kFirstCallSeconds / median(result.latency), double{kMinFirstCalls}, double{kMaxFirstCalls}));
    result.steps = case_.steps();
    result.first_call =
        time_interleaved({{"first_call", run_, 1, [this] { case_.renew_handle(); }}}, first_calls).front();
  }

  void time_cold(Result& result) {
    Evictor evictor;
    const auto evict = [&] { evictor.evict(); };
    const double seconds = repetition_of(evict).seconds + repetition_of(run_).seconds;
    time_entries(result, base_entries(1, evict), repetitions_for(3 * seconds));
  }

 private:
  static constexpr size_t kBaseEntries = 3;

  static int repetitions_for(double seconds_per_repetition) {
    return static_cast<int>(
        std::clamp(kCaseSeconds / seconds_per_repetition, double{kMinRepetitions}, double{kMaxRepetitions}));
  }

  // The entries of every cache setting.
  std::vector<Timed> base_entries(int64_t calls, const std::function<void()>& before) {
    return {{"operator", run_, calls, before},
            {"stream_bound_ordinary", [this] { stream_bound_.run(Stores::kOrdinary); }, calls, before},
            {"stream_bound_non_temporal", [this] { stream_bound_.run(Stores::kNonTemporal); }, calls, before}};
  }

  // Stores the samples of the base entries in the result. Returns the samples of all entries.
  static std::vector<Samples> time_entries(Result& result, const std::vector<Timed>& entries, int repetitions) {
    auto samples = time_interleaved(entries, repetitions);
    result.latency = samples[0];
    result.stream_bound_ordinary = samples[1];
    result.stream_bound_non_temporal = samples[2];
    return samples;
  }

  Case& case_;
  StreamBound stream_bound_;
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
  const double stream_bound =
      std::min(median(result.stream_bound_ordinary), median(result.stream_bound_non_temporal));
  const auto ops = static_cast<double>(result.work.ops);
  const double compute_bound = ops / fma_peak.at(result.threads);
  const double algorithmic_bound = median(result.algorithmic_bound);
  const double max_bound = std::isnan(algorithmic_bound)
                               ? std::numeric_limits<double>::quiet_NaN()
                               : std::max({stream_bound, compute_bound, algorithmic_bound});
  std::vector<double> speed_ups;
  for (const NamedSamples& baseline : result.baselines) speed_ups.push_back(median(baseline.samples) / latency);
  return {latency,
          stream_bound,
          median(result.first_call),
          ops / latency,
          stream_bound / latency,
          compute_bound / latency,
          stream_bound >= compute_bound,
          std::max(stream_bound, compute_bound) / latency,
          algorithmic_bound,
          max_bound / latency,
          speed_ups,
          overhead(result.memory)};
}

std::string cache_name(Cache cache) { return cache == Cache::kWarm ? "warm" : "cold"; }

std::vector<Result> measure(const CaseSpec& spec, const Settings& settings, std::ostream& progress) {
  Result unmeasured;
  unmeasured.op = spec.op;
  unmeasured.name = spec.name;
  unmeasured.dtype = spec.dtype;
  unmeasured.algorithm = spec.algorithm;
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
