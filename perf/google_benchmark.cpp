#include "perf/google_benchmark.h"

#include <benchmark/benchmark.h>

#include <iostream>
#include <string>

#include "perf/support/machine.h"
#include "perf/support/measures.h"

namespace mluop::perf {
namespace {

// Google Benchmark's time determines bytes_per_second; the other counters come from the suite's interleaved
// measurement.
void set_counters(benchmark::State& state, const Result& result) {
  const Figures figures(result);
  state.SetBytesProcessed(state.iterations() * (result.work.read_bytes + result.work.write_bytes));
  state.counters["stream_bound"] = figures.stream_bound;
  if (result.work.ops > 0) state.counters["compute_bound"] = figures.compute_bound;
  if (!result.algorithmic_bound.empty()) state.counters["algorithmic_bound"] = figures.algorithmic_bound;
  state.counters["efficiency"] = figures.binding_efficiency();
  for (const auto& [name, samples] : result.baselines) state.counters[name] = median(samples);
}

}  // namespace

int run_google_benchmark(const std::vector<CaseSpec>& cases, const Options& options) {
  std::string program = "mluop_perf";
  std::vector<char*> arguments = options.google_benchmark;
  arguments.insert(arguments.begin(), program.data());
  auto count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return kBadUsage;
  const Machine machine = describe_machine();
  for (const auto& [key, value] : {std::pair{"mluop_omp", machine.library},
                                   {"cpu", machine.cpu},
                                   {"instruction_set", machine.instruction_set},
                                   {"threads", std::to_string(options.threads.front())},
                                   {"size", options.sizes.front().name}}) {
    benchmark::AddCustomContext(key, value);
  }
  const Settings settings{options.sizes.front(), options.threads.front(), {Cache::kWarm}};
  double fma_peak = 0;
  bool has_failed = false;
  // Google Benchmark calls a benchmark several times; its case is prepared, verified and measured only once.
  const CaseSpec* current = nullptr;
  MeasuredCase measured;
  const auto run = [&](const CaseSpec& spec, benchmark::State& state) {
    if (current != &spec) {
      current = &spec;
      measured = {};  // frees the memory of the previous case
      if (fma_peak == 0) fma_peak = measure_fma_peak(settings.threads);
      std::cerr << title(spec) << ':';
      measured = measure(spec, settings, std::cerr);
      measured.results.front().fma_peak = fma_peak;
    }
    const Result& result = measured.results.front();
    if (!result.problem.empty()) {
      has_failed = true;
      state.SkipWithError(result.problem.c_str());
      return;
    }
    for (auto _ : state) measured.prepared->run();
    set_counters(state, result);
  };
  for (const CaseSpec& spec : cases) {
    const std::string name = spec.op + '/' + spec.name + '/' + spec.dtype + '/' + spec.algorithm;
    benchmark::RegisterBenchmark(name.c_str(), [&](benchmark::State& state) { run(spec, state); })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  if (benchmark::RunSpecifiedBenchmarks() == 0) return kBadUsage;
  return has_failed ? kFailure : 0;
}

}  // namespace mluop::perf
