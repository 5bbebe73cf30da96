// Half for oracles. The conversions follow IEEE 754 in double and share no code with the library.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mluop::reference {

// The bits of a binary16.
struct Half {
  uint16_t bits;
  bool operator==(const Half&) const = default;
};

// Exact; NaN of any payload becomes the quiet NaN.
float to_f32(Half half);
inline float to_f32(float value) { return value; }

// Rounded to nearest even; a NaN becomes the quiet NaN.
Half to_f16(double value);

// Writes a result, which has the type of the output or is rounded to half.
template <class T>
void put(T value, T* to) {
  *to = value;
}
inline void put(double value, Half* to) { *to = to_f16(value); }
// The type of sums for an output of type Output.
template <class Output>
using SumOf = std::conditional_t<std::is_same_v<Output, double>, double, float>;

}  // namespace mluop::reference
