// bfloat16, the upper half of an fp32, as a storage type: arithmetic is done in fp32. Conversions to fp32 are
// exact. Conversions to bfloat16 round to nearest even, including subnormals; values beyond the largest become
// infinity; NaN keeps its sign and the upper bits of its payload and becomes quiet. primitives/simd/elements-inl.h
// provides the same for vectors.
#pragma once

#include <bit>
#include <cstdint>

namespace mluop {

struct BFloat16 {
  uint16_t bits;
};

inline constexpr int kBFloat16Shift = 16;
inline constexpr uint32_t kBFloat16BelowHalf = 0x7FFF;  // one bit of fp32 below half a unit in the last place
inline constexpr uint32_t kBFloat16Quiet = 0x40;

constexpr float bf16_to_f32(BFloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << kBFloat16Shift);
}

constexpr BFloat16 f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t upper = bits >> kBFloat16Shift;
  const bool is_nan = value != value;
  return {static_cast<uint16_t>(is_nan ? upper | kBFloat16Quiet
                                       : (bits + kBFloat16BelowHalf + (upper & 1U)) >> kBFloat16Shift)};
}

}  // namespace mluop
