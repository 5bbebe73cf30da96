// The element types of kernels: float, Half and BFloat16.
#pragma once

#include <concepts>

#include "core/bfloat16.h"
#include "core/half.h"

namespace mluop {

// The 16-bit types: arithmetic is done in fp32, and results are rounded once.
template <class T>
concept Element16 = std::same_as<T, Half> || std::same_as<T, BFloat16>;

constexpr float to_f32(float value) { return value; }
constexpr float to_f32(Half value) { return f16_to_f32(value); }
constexpr float to_f32(BFloat16 value) { return bf16_to_f32(value); }

constexpr void round_to(float value, float* to) { *to = value; }
constexpr void round_to(float value, Half* to) { *to = f32_to_f16(value); }
constexpr void round_to(float value, BFloat16* to) { *to = f32_to_bf16(value); }

}  // namespace mluop
