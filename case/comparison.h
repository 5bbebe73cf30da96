// Compares results with the library.
#pragma once

#include <vector>

#include "case/metrics.h"
#include "mlu_op_omp.h"

namespace mluop::cases {

class Comparison {
 public:
  // Throws CallFailed.
  Comparison(const Results& results, const Dims& dims, const mluOpOmpCompareOptions_t& options);
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;
  ~Comparison();

  // Options by which elements with different bits are wrong.
  static mluOpOmpCompareOptions_t bits_of(const Results& results);

  mluOpOmpDifference_t difference() const;
  std::vector<mluOpOmpWrongElement_t> worst(size_t max_count) const;
  const char* pattern() const { return mluOpOmpGetComparisonPattern(comparison_); }

 private:
  mluOpOmpComparison_t comparison_ = nullptr;
};

}  // namespace mluop::cases
