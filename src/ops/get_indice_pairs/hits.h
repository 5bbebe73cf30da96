// The output coordinates along one axis to which an input coordinate contributes.
#pragma once

#include <hwy/base.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ops/get_indice_pairs/get_indice_pairs.h"

namespace mluop::get_indice_pairs::native {

// Offset k + i * stride of the filter contributes to coordinate o - i * dilation of the output, for 0 <= i < n.
struct Hits {
  int64_t k, o, n;
};

// Division by a stride: a shift for the usual strides, which are powers of two.
class Divisor {
 public:
  explicit Divisor(int64_t value)
      : value_(value),
        shift_(std::has_single_bit(static_cast<uint64_t>(value)) ? std::countr_zero(static_cast<uint64_t>(value))
                                                                 : -1) {}
  // The quotient of a non-negative number.
  HWY_INLINE int64_t divide(int64_t number) const { return shift_ >= 0 ? number >> shift_ : number / value_; }

 private:
  int64_t value_;
  int shift_;
};

// Requires that stride or dilation is 1.
class HitFinder {
 public:
  explicit HitFinder(const Axis& axis) : axis_(axis), divisor_(std::max(axis.stride, axis.dilation)) {}

  HWY_INLINE Hits hits(int32_t coordinate) const {
    const int64_t x = coordinate + axis_.pad;
    const int64_t last_k = axis_.kernel - 1, last_o = axis_.output_extent - 1;
    if (axis_.stride > 1) {
      const int64_t o = std::min(divisor_.divide(x), last_o);
      const int64_t k = x - o * axis_.stride;
      return {k, o, k > last_k ? 0 : std::min(divisor_.divide(last_k - k), o) + 1};
    }
    const int64_t excess = std::max<int64_t>(x - last_o, 0);
    if (axis_.dilation > 1) {
      const int64_t k = divisor_.divide(excess + axis_.dilation - 1);
      return {k, x - k * axis_.dilation, std::max<int64_t>(std::min(divisor_.divide(x), last_k) - k + 1, 0)};
    }
    return {excess, x - excess, std::max<int64_t>(std::min(x, last_k) - excess + 1, 0)};
  }

 private:
  Axis axis_;
  Divisor divisor_;
};

}  // namespace mluop::get_indice_pairs::native
