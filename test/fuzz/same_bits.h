// Comparison of bits. A NaN equals a NaN of any payload: IEEE 754 does not specify that of a sum.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "support/half.h"

namespace mluop::fuzz {

template <class T>
bool same_bits(const T* evaluated, const T* expected, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const bool both_nan = std::isnan(test::to_f32(evaluated[i])) && std::isnan(test::to_f32(expected[i]));
    if (std::memcmp(evaluated + i, expected + i, sizeof(T)) != 0 && !both_nan) return false;
  }
  return true;
}

template <class T>
bool same_bits(const T* evaluated, const std::vector<T>& expected) {
  return same_bits(evaluated, expected.data(), expected.size());
}

}  // namespace mluop::fuzz
