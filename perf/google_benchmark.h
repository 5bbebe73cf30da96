// The cases as benchmarks of Google Benchmark, with its options and output formats.
#pragma once

#include <vector>

#include "perf/options.h"

namespace mluop::perf {

// Runs the cases that --benchmark_filter selects, one benchmark "operator/case/dtype/algorithm" each. Returns the
// exit status of the program.
int run_google_benchmark(const std::vector<CaseSpec>& cases, const Options& options);

}  // namespace mluop::perf
