// A tensor descriptor by its documentation: what the functions of the API must store and return.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mlu_op.h"

namespace mluop::fuzz {

// Bytes of an element; 0 for MLUOP_DTYPE_INVALID and numbers that are no data type.
inline int64_t element_bytes(int dtype) {
  constexpr int64_t kBytes[] = {0, 2, 4, 1, 2, 4, 4, 1, 1, 8, 0, 4, 8, 2, 8, 4, 8, 2};
  return 0 <= dtype && dtype < static_cast<int>(sizeof(kBytes) / sizeof(kBytes[0])) ? kBytes[dtype] : 0;
}

struct DescriptorModel {
  int layout = MLUOP_LAYOUT_ARRAY;
  int dtype = MLUOP_DTYPE_INVALID;
  std::vector<int64_t> dims, strides;

  // The product of the dimensions, each at least `least`; -1 if it exceeds int64_t.
  int64_t product(int64_t least) const {
    int64_t result = 1;
    bool is_zero = false;
    for (const int64_t dim : dims) {
      const int64_t factor = dim < least ? least : dim;
      is_zero = is_zero || factor == 0;
      if (!is_zero && __builtin_mul_overflow(result, factor, &result)) return -1;
    }
    return is_zero ? 0 : result;
  }

  uint64_t element_count() const { return dims.empty() ? 0 : static_cast<uint64_t>(product(0)); }

  void set_contiguous() {
    strides.assign(dims.size(), 1);
    for (size_t i = strides.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * (dims[i] < 1 ? 1 : dims[i]);
  }

  // Whether sizes in bytes fit int64_t: of the elements, and of the span of the strides.
  bool fits() const {
    const int64_t bytes = element_bytes(dtype) == 0 ? 1 : element_bytes(dtype);
    int64_t unused = 0;
    if (product(1) < 0 || __builtin_mul_overflow(product(1), bytes, &unused)) return false;
    __int128 span = 1;
    for (size_t i = 0; i < strides.size(); ++i) {
      span += static_cast<__int128>(dims[i] < 1 ? 0 : dims[i] - 1) * strides[i];
    }
    return span * bytes <= INT64_MAX;
  }

  // Whether a value exceeds int.
  static bool exceeds_int(const std::vector<int64_t>& values) {
    for (const int64_t value : values) {
      if (value > INT_MAX) return true;
    }
    return false;
  }
};

}  // namespace mluop::fuzz
