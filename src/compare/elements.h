// The elements of a tensor of any real data type: a chunk at a time as numbers, and as bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/element.h"
#include "mlu_op.h"

namespace mluop::compare {

// Converts an element to double.
inline double number_of(float element) { return element; }
inline double number_of(Element16 auto element) { return to_f32(element); }

inline bool has_bits_of(float element, float other) {
  return std::bit_cast<uint32_t>(element) == std::bit_cast<uint32_t>(other);
}
template <Element16 T>
bool has_bits_of(T element, T other) {
  return element.bits == other.bits;
}

struct Elements {
  mluOpDataType_t dtype;
  const std::byte* data;
};

// Maximum number of elements of one call below; callers keep numbers and bits on the stack.
inline constexpr int64_t kChunk = 512;
// Elements of a step, the unit that the search for a pattern reads again.
inline constexpr int64_t kStep = 16;

// Whether tensors of the type can be compared: real numbers, except INT31.
bool is_comparable(mluOpDataType_t dtype);
bool is_floating(mluOpDataType_t dtype);
bool is_64_bit_integer(mluOpDataType_t dtype);

// Elements [first, first + count), count <= kChunk, as double.
void read_numbers(const Elements& elements, int64_t first, int64_t count, double* numbers);

// Reads their bits, zero-extended.
void read_bits(const Elements& elements, int64_t first, int64_t count, uint64_t* bits);

// The bits of elements of another type rounded to `dtype`: to nearest even; integers saturate, NaN becomes 0.
// numbers: the elements as double.
void round_bits(mluOpDataType_t dtype, const Elements& elements, int64_t first, int64_t count,
                const double* numbers, uint64_t* bits);

// A number rounded to `dtype` and back.
double rounded(mluOpDataType_t dtype, double number);

// The smallest positive number of a floating-point type; 0 for other types.
double smallest_positive(mluOpDataType_t dtype);

// The rank of an element among the values of its type: consecutive values have consecutive keys, +0 and -0 the
// same key; keys of NaN are unspecified.
uint64_t key_of_bits(mluOpDataType_t dtype, uint64_t bits);

// Whether elements [first, first + count) of both tensors have the same type and the same bytes.
bool are_same(const Elements& one, const Elements& other, int64_t first, int64_t count);

// The distance between two elements, in representable values of their type.
inline uint64_t distance_of(uint64_t key, uint64_t other) { return key < other ? other - key : key - other; }

}  // namespace mluop::compare
