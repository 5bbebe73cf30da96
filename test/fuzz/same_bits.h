// Comparison of bits. A NaN equals a NaN of any payload: IEEE 754 does not specify that of a sum.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "support/half.h"

namespace mluop::fuzz {

template <class T>
bool same_bits(const T* evaluated, const std::vector<T>& expected) {
  for (const T& element : expected) {
    const T& found = *evaluated++;
    const bool both_nan = std::isnan(test::to_f32(found)) && std::isnan(test::to_f32(element));
    if (std::memcmp(&found, &element, sizeof(T)) != 0 && !both_nan) return false;
  }
  return true;
}

}  // namespace mluop::fuzz
