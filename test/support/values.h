// The values of the floating-point inputs of a case.
#pragma once

#include <cstdint>

#include "case/values.h"

namespace mluop::test {

enum class Values {
  kFractions,   // [-1, 1)
  kIntegers,    // 0 to 2: sums are exact and have no negative zeros
  kMagnitudes,  // of very different exponents; no sum of products of 2^20 elements overflows
  kSubnormals,
  kSpecials,  // fractions, and one in eight NaN, infinity or -0
  kAnyBits,   // NaN with payload, infinity and the largest numbers
};

const char* text_of(Values values);

// Replaces the elements of a tensor by elements whose numbers, two for each complex element, have the bits
// bits_of(i).
template <class Bits>
void set_elements(cases::Tensor& tensor, const Bits& bits_of) {
  tensor.elements.source = cases::Elements::Source::kInline;
  tensor.elements.bytes.resize(byte_count(tensor));
  for (size_t i = 0; i < static_cast<size_t>(number_count(tensor)); ++i) {
    cases::put_bits(tensor.elements.bytes.data(), tensor.dtype, i, bits_of(i));
  }
}

// The case with other values in the inputs that may have any values, i.e. the inputs with generated values.
cases::Case with_values(const cases::Case& made, Values values, int32_t seed);

// The case with its floating-point inputs and parameters multiplied by a power of two.
cases::Case scaled(const cases::Case& made, double factor);

// The case with infinities, and values whose sums overflow, in the first input that may hold any values.
cases::Case with_overflows(const cases::Case& made);

}  // namespace mluop::test
