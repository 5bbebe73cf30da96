// Where a result is wrong: the worst elements, and how the wrong elements are distributed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case/metrics.h"

namespace mluop::cases {

struct WrongElement {
  Dims position;
  double expected, found;
  double absolute, relative;
};

struct ErrorReport {
  int64_t wrong = 0, total = 0;
  std::vector<WrongElement> worst;  // the largest errors first
  // "one channel: index 3 of 16 (dim 3), 60 of its 64 elements"
  std::string distribution;
};

// The elements that differ from the baseline by more than `tolerance` times its magnitude, at least the mean
// magnitude. If there are none: all that differ. Tolerance 0: all that differ in bits. axes: names of the
// dimensions, which may be fewer or empty.
ErrorReport errors_of(const Results& results, const Dims& dims, const std::vector<std::string>& axes,
                      double tolerance, size_t worst_count);

// How the elements with these indices, ascending, are distributed over a tensor.
std::string distribution_of(const std::vector<int64_t>& wrong, const Dims& dims,
                            const std::vector<std::string>& axes);

// Several lines, each after `indent`.
std::string text_of(const ErrorReport& report, const std::string& indent);

}  // namespace mluop::cases
