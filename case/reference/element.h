// Half and bfloat16 for oracles. The conversions follow IEEE 754 in double and share no code with the library.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace mluop::reference {

// The bits of a binary16.
struct Half {
  uint16_t bits;
  bool operator==(const Half&) const = default;
};

// The bits of a bfloat16.
struct BFloat16 {
  uint16_t bits;
  bool operator==(const BFloat16&) const = default;
};

// Exact; NaN with any payload becomes the quiet NaN.
float to_f32(Half half);
float to_f32(BFloat16 value);
inline float to_f32(float value) { return value; }

// Rounds to nearest even; NaN becomes the quiet NaN.
Half to_f16(double value);
BFloat16 to_bf16(double value);

// Writes a result, rounded to the type of the output.
inline void put(double value, double* to) { *to = value; }
inline void put(double value, float* to) { *to = static_cast<float>(value); }
inline void put(double value, Half* to) { *to = to_f16(value); }
inline void put(double value, BFloat16* to) { *to = to_bf16(value); }

template <class Sum, class Output>
void put_all(const std::vector<Sum>& sums, Output* to) {
  for (const Sum sum : sums) put(sum, to++);
}

// The type of sums for an output of type Output.
template <class Output>
using SumOf = std::conditional_t<std::is_same_v<Output, double>, double, float>;

}  // namespace mluop::reference
