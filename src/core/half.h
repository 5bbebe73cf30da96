// IEEE 754 binary16, as a type of memory: arithmetic happens in float. Conversions are those of the hardware,
// bit for bit: exact to float; to half rounded to nearest even, subnormals included, what rounds above 65504 to
// infinity, and NaN with its sign and the upper bits of its payload, made quiet. They expect the default
// rounding mode. primitives/half-inl.h has the same for vectors.
#pragma once

#include <bit>
#include <cstdint>

namespace mluop {

struct Half {
  uint16_t bits;
};

// What the conversions are made of. A half's exponent is 112 below a float's, its mantissa 13 bits shorter.
inline constexpr int kHalfShift = 13;
inline constexpr uint32_t kHalfRebias = 112U << 23;
inline constexpr uint32_t kHalfExponent = 0x7C00U << kHalfShift;  // all ones, in the place of a float's bits
inline constexpr uint32_t kHalfQuiet = 0x200;
inline constexpr float kHalfLeast = 0x1p-24F;             // the least subnormal half
inline constexpr uint32_t kHalfNormalFrom = 113U << 23;   // bits of 2^-14, the least normal half
inline constexpr uint32_t kHalfAllInfinite = 143U << 23;  // bits of 2^16: infinite from here on, if not before
inline constexpr uint32_t kHalfInfinity = 0x7C00;
inline constexpr uint32_t kFloatInfinity = 255U << 23;
inline constexpr uint32_t kFloatQuiet = 1U << 22;

constexpr float to_float(Half half) {
  const uint32_t sign = (half.bits & 0x8000U) << 16;
  const uint32_t magnitude = (half.bits & 0x7FFFU) << kHalfShift;
  uint32_t bits;
  if (magnitude < 1U << 23) {
    bits = std::bit_cast<uint32_t>(static_cast<float>(half.bits & 0x3FFU) * kHalfLeast);
  } else if (magnitude < kHalfExponent) {
    bits = magnitude + kHalfRebias;
  } else {
    bits = magnitude + 2 * kHalfRebias;
    if (bits > kFloatInfinity) bits |= kFloatQuiet;
  }
  return std::bit_cast<float>(sign | bits);
}

constexpr Half to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits & 0x80000000U) >> 16;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  uint32_t half;
  if (magnitude < kHalfNormalFrom) {
    // In [0.5, 1) a float is as fine as a subnormal half: the addition rounds.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<uint32_t>(0.5F);
  } else if (magnitude < kHalfAllInfinite) {
    // Half a unit less one, and one more if the result would be odd. A carry moves on into the exponent, up to
    // infinity.
    half = (magnitude - kHalfRebias + 0xFFFU + (magnitude >> kHalfShift & 1U)) >> kHalfShift;
  } else if (magnitude <= kFloatInfinity) {
    half = kHalfInfinity;
  } else {
    half = kHalfInfinity | kHalfQuiet | (magnitude >> kHalfShift & 0x3FFU);
  }
  return {static_cast<uint16_t>(sign | half)};
}

}  // namespace mluop
