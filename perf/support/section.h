// The part of a table that is about one operator.
#pragma once

#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "perf/support/measure.h"

namespace mluop::perf {

// The cases of one operator, and the columns that they need.
struct Section {
  std::span<const Result> results;
  int name_width = 4;
  std::vector<std::string> baselines;  // of any case, in their order
  bool has_floor = false, has_memory = false;
};

// In the order of the results, which live longer.
std::vector<Section> sections_of(std::span<const Result> results);

// NaN where the result has no such baseline.
double speed_up_over(const std::string& name, const Result& result, const Figures& figures);

// What the section's cases come to, those of the deterministic mode if there are any: two lines at most.
void write_summary(std::ostream& out, const Section& section, const std::map<int, double>& fma_peak);

}  // namespace mluop::perf
