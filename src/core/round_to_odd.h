// Rounding of double to a 16-bit type, in two steps, as if in one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace mluop {

// Rounds to odd: an inexact finite result has its last bit set. Rounding the result again, to a 16-bit type, gives
// the same value as rounding `number` directly.
inline float round_to_odd(double number) {
  const auto nearest = static_cast<float>(number);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (!std::isfinite(nearest) || double{nearest} == number || bits % 2 != 0) return nearest;
  const bool is_above = std::abs(double{nearest}) > std::abs(number);
  return std::bit_cast<float>(is_above ? bits - 1 : bits + 1);
}

}  // namespace mluop
