#include "case/comparison.h"

#include "case/api.h"

namespace mluop::cases {

Comparison::Comparison(const Results& results, const Dims& dims, const mluOpOmpCompareOptions_t& options) {
  const Handle handle;
  const Descriptor desc(results.dtype, dims.empty() ? Dims{1} : dims);
  require(mluOpOmpCompare(handle, desc, results.found, desc, results.expected, &options, &comparison_));
}

Comparison::~Comparison() { mluOpOmpDestroyComparison(comparison_); }

mluOpOmpCompareOptions_t Comparison::bits_of(const Results& results) {
  mluOpOmpCompareOptions_t options = mluOpOmpDefaultCompareOptions();
  options.rtol = options.rms_atol = 0;
  options.bits = 1;
  options.nan_payloads = results.nan_payloads ? 1 : 0;
  return options;
}

mluOpOmpDifference_t Comparison::difference() const {
  mluOpOmpDifference_t difference;
  require(mluOpOmpGetDifference(comparison_, &difference));
  return difference;
}

std::vector<mluOpOmpWrongElement_t> Comparison::worst(size_t max_count) const {
  std::vector<mluOpOmpWrongElement_t> elements(max_count);
  int count = 0;
  require(mluOpOmpGetWrongElements(comparison_, static_cast<int>(max_count), elements.data(), &count));
  elements.resize(static_cast<size_t>(count));
  return elements;
}

}  // namespace mluop::cases
