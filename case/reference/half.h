// Half for oracles. The conversions follow IEEE 754 in double and share no code with the library.
#pragma once

#include <cstdint>
#include <vector>

namespace mluop::reference {

// The bits of a binary16.
struct Half {
  uint16_t bits;
  bool operator==(const Half&) const = default;
};

double half_value(uint32_t bits);

// Exact; NaN of any payload becomes the quiet NaN.
float to_f32(Half half);
inline float to_f32(float value) { return value; }

// Rounded to nearest even; a NaN becomes the quiet NaN.
Half to_f16(double value);

// For comparisons: the conversion is exact, so equal bits of fp32 are equal bits of half.
std::vector<float> floats_of(const std::vector<Half>& values);
inline std::vector<float> floats_of(std::vector<float> values) { return values; }

}  // namespace mluop::reference
