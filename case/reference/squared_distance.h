// Squared distances of points in space by their definition: each difference, product and sum is rounded to half
// for half, otherwise to fp32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/element.h"

namespace mluop::reference {

// The value rounded to half, ties to even. Equals to_f16(), but fast enough for millions of points.
inline double half_rounded(double value) {
  const double magnitude = std::abs(value);
  if (!(magnitude < 65520)) return std::isnan(value) ? value : std::copysign(HUGE_VAL, value);
  double units;
  if (magnitude < 0x1p-14) {
    // Adding 2^28, whose last place is 2^-24, rounds.
    units = (magnitude + 0x1p28) - 0x1p28;
  } else {
    // Rounds the lower 42 of 52 bits away.
    const auto bits = std::bit_cast<uint64_t>(magnitude);
    const uint64_t odd = bits >> 42 & 1;
    units = std::bit_cast<double>((bits + (uint64_t{1} << 41) - 1 + odd) >> 42 << 42);
  }
  return std::copysign(units, value);
}

// T: float or BFloat16.
template <class T>
float squared_distance(const T* a, const T* b) {
  const auto difference = [&](int dim) { return to_f32(a[dim]) - to_f32(b[dim]); };
  const float x = difference(0), y = difference(1), z = difference(2);
  return (x * x + y * y) + z * z;
}

inline double squared_distance(const Half* a, const Half* b) {
  const auto square = [&](int dim) {
    const double difference = half_rounded(double{to_f32(a[dim])} - double{to_f32(b[dim])});
    return half_rounded(difference * difference);
  };
  return half_rounded(half_rounded(square(0) + square(1)) + square(2));
}

}  // namespace mluop::reference
