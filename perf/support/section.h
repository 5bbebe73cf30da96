// The section of the table for one operator.
#pragma once

#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "perf/support/measure.h"

namespace mluop::perf {

// The cases of one operator and the columns that they need.
struct Section {
  std::span<const Result> results;
  int name_width = 4;
  std::vector<std::string> baselines;  // the baselines of all cases, in order of first occurrence
  bool has_algorithmic_bound = false, has_memory = false;
};

// Sections in the order of the results. They refer to `results`.
std::vector<Section> sections_of(std::span<const Result> results);

// Returns NaN if the result does not have the baseline.
double speed_up_over(const std::string& name, const Result& result, const Figures& figures);

// Summarizes the cases of a section, those of the native algorithm if there are any, in at most two lines.
void write_summary(std::ostream& out, const Section& section, const std::map<int, double>& fma_peak);

}  // namespace mluop::perf
