#include "perf/support/timing.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>
#include <map>

namespace mluop::perf {
namespace {

constexpr double kMinRepetitionSeconds = 0.005;
constexpr double kMinCallSeconds = 1e-7;  // resolution of a single measurement

// Collects the samples, prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      samples[run.run_name.function_name].push_back(run.real_accumulated_time /
                                                    static_cast<double>(run.iterations));
    }
  }
  std::map<std::string, Samples> samples;
};

// Google Benchmark's registry is global; the destructor clears it, also after an exception.
struct Registration {
  Registration() {
    static const bool initialized = [] {
      std::string program = "mluop_perf", interleaving = "--benchmark_enable_random_interleaving=true";
      char* arguments[] = {program.data(), interleaving.data(), nullptr};
      int count = 2;
      benchmark::Initialize(&count, arguments);
      return true;
    }();
    static_cast<void>(initialized);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { benchmark::ClearRegisteredBenchmarks(); }
};

void register_entry(const Timed& entry, int repetitions) {
  auto* registered = benchmark::RegisterBenchmark(entry.name.c_str(), [&entry](benchmark::State& state) {
    if (entry.before == nullptr) entry.run();  // not timed: fills the caches
    for (auto _ : state) {
      if (entry.before == nullptr) {
        entry.run();
      } else {
        entry.before();
        state.SetIterationTime(seconds_of(entry.run));
      }
    }
  });
  if (entry.before == nullptr) {
    registered->UseRealTime();
  } else {
    registered->UseManualTime();
  }
  registered->Iterations(entry.calls)->Repetitions(repetitions);
}

}  // namespace

Repetition repetition_of(const std::function<void()>& run) {
  double seconds = seconds_of(run);
  if (seconds < kLongCallSeconds) seconds = seconds_of(run);
  const auto calls = static_cast<int64_t>(kMinRepetitionSeconds / std::max(seconds, kMinCallSeconds)) + 1;
  return {calls, static_cast<double>(calls) * seconds};
}

std::vector<Samples> time_interleaved(const std::vector<Timed>& entries, int repetitions) {
  const Registration registration;
  for (const Timed& entry : entries) register_entry(entry, repetitions);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, "all");
  std::vector<Samples> samples;
  for (const Timed& entry : entries) samples.push_back(collector.samples[entry.name]);
  return samples;
}

double median(Samples samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

}  // namespace mluop::perf
