// All cases of the suite. Each file of case/operators has a file in this folder and each network a file in
// perf/networks, with an entry in catalogue.cpp.
#pragma once

#include <string>
#include <vector>

#include "perf/support/case.h"

namespace mluop::perf {

// Pseudo-operator of the cases that compare hostile distributions of indices with friendly ones of the same size.
// Selected only if a filter names it.
inline constexpr auto kCliffs = "cliffs";

// Pseudo-operator of the networks. A call of a network is several calls of the library.
inline constexpr auto kNetworks = "networks";

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
