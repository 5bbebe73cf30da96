// All cases of the suite: the cases in perf/ops, one file for each file of case/operators whose description states
// no network sizes, and the networks of perf/networks.
#pragma once

#include <string>
#include <vector>

#include "perf/support/case.h"

namespace mluop::perf {

// Substrings of the name of a case (the empty string selects all); names of data types and algorithms.
struct Filter {
  // Only the representative case of each operator, in float or int32, with each of its algorithms, and the
  // networks.
  bool representative = false;
  std::string op, name;
  std::vector<std::string> dtypes{"float", "half", "bfloat16", "int32"};
  std::vector<std::string> algorithms{"native", "device"};
};

// Cases of an operator are consecutive, the native algorithm first. Cliffs come last.
std::vector<CaseSpec> matching_cases(const Filter& filter);

// "operator/case dtype algorithm".
std::string title(const CaseSpec& spec);

}  // namespace mluop::perf
