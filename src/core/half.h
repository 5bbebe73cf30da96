// IEEE 754 binary16 as a storage type: arithmetic is done in fp32. The conversions match the hardware bit for bit.
// Conversions to fp32 are exact. Conversions to half round to nearest even, including subnormals; values that
// round above 65504 become infinity; NaN keeps its sign and the upper bits of its payload and becomes quiet. They
// assume the default rounding mode. primitives/simd/elements-inl.h provides the same for vectors.
#pragma once

#include <bit>
#include <cstdint>

namespace mluop {

struct Half {
  uint16_t bits;
};

// Constants of the conversions. The exponent bias of half is 112 less than the bias of fp32, its mantissa 13 bits
// shorter.
inline constexpr int kHalfShift = 13;
inline constexpr uint32_t kHalfRebias = 112U << 23;
inline constexpr uint32_t kHalfExponent = 0x7C00U << kHalfShift;  // all ones, at the position of the fp32 exponent
inline constexpr uint32_t kHalfQuiet = 0x200;
inline constexpr float kHalfMin = 0x1p-24F;               // the smallest subnormal half
inline constexpr uint32_t kHalfNormalFrom = 113U << 23;   // bits of 2^-14, the smallest normal half
inline constexpr uint32_t kHalfAllInfinite = 143U << 23;  // bits of 2^16: values from here on become infinity
inline constexpr uint32_t kHalfInfinity = 0x7C00;
inline constexpr uint32_t kFloatInfinity = 255U << 23;
inline constexpr uint32_t kFloatQuiet = 1U << 22;

constexpr float f16_to_f32(Half half) {
  const uint32_t sign = (half.bits & 0x8000U) << 16;
  const uint32_t magnitude = (half.bits & 0x7FFFU) << kHalfShift;
  uint32_t bits;
  if (magnitude < 1U << 23) {
    bits = std::bit_cast<uint32_t>(static_cast<float>(half.bits & 0x3FFU) * kHalfMin);
  } else if (magnitude < kHalfExponent) {
    bits = magnitude + kHalfRebias;
  } else {
    bits = magnitude + 2 * kHalfRebias;
    if (bits > kFloatInfinity) bits |= kFloatQuiet;
  }
  return std::bit_cast<float>(sign | bits);
}

constexpr Half f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits & 0x80000000U) >> 16;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  uint32_t half;
  if (magnitude < kHalfNormalFrom) {
    // In [0.5, 1), fp32 has the spacing of subnormal halves: the addition rounds.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<uint32_t>(0.5F);
  } else if (magnitude < kHalfAllInfinite) {
    // Adds half a unit in the last place, less one if the result is even. A carry increments the exponent, up to
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
