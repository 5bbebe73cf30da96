// A comparison by the C API, for tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "mlu_op_omp.h"
#include "support/api.h"

namespace mluop::test {

struct DenseTensor {
  mluOpDataType_t dtype;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;

  template <class T>
  static DenseTensor of(mluOpDataType_t dtype, const std::vector<int64_t>& dims, const std::vector<T>& values) {
    DenseTensor made{dtype, dims, std::vector<std::byte>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    return made;
  }
};

class Compared {
 public:
  Compared(const DenseTensor& found, const DenseTensor& expected,
           const mluOpOmpCompareOptions_t& options = mluOpOmpDefaultCompareOptions()) {
    const Handle handle;
    require(mluOpOmpCompare(handle, Descriptor(found.dtype, found.dims), found.bytes.data(),
                            Descriptor(expected.dtype, expected.dims), expected.bytes.data(), &options,
                            &comparison_));
  }
  Compared(const Compared&) = delete;
  Compared& operator=(const Compared&) = delete;
  ~Compared() { mluOpOmpDestroyComparison(comparison_); }

  mluOpOmpDifference_t difference() const {
    mluOpOmpDifference_t difference;
    require(mluOpOmpGetDifference(comparison_, &difference));
    return difference;
  }
  std::vector<mluOpOmpWrongElement_t> worst() const {
    std::vector<mluOpOmpWrongElement_t> elements(1000);
    int count = 0;
    require(mluOpOmpGetWrongElements(comparison_, static_cast<int>(elements.size()), elements.data(), &count));
    elements.resize(static_cast<size_t>(count));
    return elements;
  }
  std::string pattern() const { return mluOpOmpGetComparisonPattern(comparison_); }

 private:
  mluOpOmpComparison_t comparison_ = nullptr;
};

}  // namespace mluop::test
