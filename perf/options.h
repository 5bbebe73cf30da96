// The command line of mluop_perf.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/catalogue.h"
#include "perf/support/measure.h"

namespace mluop::perf {

inline constexpr int kFailure = 1;
inline constexpr int kBadUsage = 2;

// Options that are not given are empty.
struct Options {
  Filter filter;
  std::vector<int> threads, tasks;
  std::vector<Size> sizes;
  std::vector<Cache> caches;
  bool list = false, scaling_model = false;
  double bandwidth = 0;  // of the scaling model; 0: unlimited
  std::string dump, json, html;
  std::vector<std::string> compare;     // one file: compared with this run; two: with each other
  std::vector<char*> google_benchmark;  // its arguments: --benchmark_...
};

// Sets `options`. If the command line asks for help or is invalid, prints the help or the error and returns the
// exit status of the program.
std::optional<int> parse(int argc, char** argv, Options& options);

}  // namespace mluop::perf
