// All cases of the suite. Each file of case/operators has one in this folder, each network one in perf/networks,
// and an entry in catalogue.cpp.
#pragma once

#include <string>
#include <vector>

#include "perf/support/case.h"

namespace mluop::perf {

// The operator of the cases that compare hostile distributions of indices with friendly ones of the same size.
// A filter has to name it.
inline constexpr auto kCliffs = "cliffs";

// The operator of the networks. A call of theirs is several calls of the library.
inline constexpr auto kNetworks = "networks";

// Substrings of the names of a case, of which the empty string selects all; names of data types and algorithms.
struct Filter {
  // Only the representative case of each operator, in float or int32, in each of its algorithms, and the networks.
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
