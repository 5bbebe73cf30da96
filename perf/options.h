// The command line of mluop_perf.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/measure.h"

namespace mluop::perf {

inline constexpr int kFailure = 1;
inline constexpr int kBadUsage = 2;

struct Options {
  Filter filter;
  std::vector<int> threads;
  std::vector<Size> sizes;
  std::vector<Cache> caches;
  bool list = false;
  std::string dump;                  // empty: no folder
  std::string json;                  // empty: no file
  std::vector<std::string> compare;  // none; the file to compare with; or old and new
};

// Sets options. Returns the exit status if the program is to end at once, after help or an error was printed.
std::optional<int> parse(int argc, char** argv, Options& options);

}  // namespace mluop::perf
