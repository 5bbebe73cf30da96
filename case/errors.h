// Describes where a result is wrong: the worst elements, and the distribution of the wrong elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case/metrics.h"
#include "mlu_op_omp.h"

namespace mluop::cases {

struct WrongElement {
  Dims position;  // for complex results followed by 0, the real part, or 1, the imaginary part
  double expected, found;
  double absolute, relative;
};

struct ErrorReport {
  int64_t wrong = 0, total = 0;
  mluOpOmpDifference_t figures = {};
  std::vector<WrongElement> worst = {};  // the largest errors first
  // "one channel: index 3 of 16 (dim 3), 60 of its 64 elements"
  std::string distribution = {};
};

// The elements that differ from the baseline by more than `tolerance` times the sum of its magnitude and the mean
// magnitude. If there are none, or tolerance is 0: all elements whose bits differ. axes: names of the dimensions,
// which may be too few or empty.
ErrorReport errors_of(const Results& results, const Dims& dims, const std::vector<std::string>& axes,
                      double tolerance, size_t worst_count);
// The elements that are wrong by these options.
ErrorReport errors_of(const Results& results, const Dims& dims, const std::vector<std::string>& axes,
                      mluOpOmpCompareOptions_t options, size_t worst_count);

// Formats the report as several lines, each after `indent`.
std::string text_of(const ErrorReport& report, const std::string& indent);

}  // namespace mluop::cases
