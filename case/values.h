// Elements of tensors: sizes, names, conversions between bits and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "case/model.h"

namespace mluop::cases {

size_t element_size(mluOpDataType_t dtype);
// A complex element is two numbers: the real part, then the imaginary part. The type of a part, and the number of
// parts; for other types the type itself, and 1.
bool is_complex(mluOpDataType_t dtype);
mluOpDataType_t part_type(mluOpDataType_t dtype);
size_t parts_of(mluOpDataType_t dtype);
// The numbers of the elements of a tensor.
int64_t number_count(const Tensor& tensor);
// "half", "int32", "complex_float"
std::string_view dtype_name(mluOpDataType_t dtype);
// MLUOP_DTYPE_INVALID for an invalid name.
mluOpDataType_t dtype_of_name(std::string_view name);
std::string_view layout_name(mluOpTensorLayout_t layout);
bool is_layout_name(std::string_view name);
// Requires a valid name.
mluOpTensorLayout_t layout_of_name(std::string_view name);
// Whether the numbers of the elements are floating-point numbers, as complex ones are.
bool is_floating(mluOpDataType_t dtype);

// The functions below count numbers: number i of complex elements is part i % 2 of element i / 2.

// Number i; for types that operators do not accept, such as INT31, the bits as an integer.
double number_at(const std::byte* data, mluOpDataType_t dtype, size_t i);
// The bits of number i, zero-extended.
uint64_t bits_at(const std::byte* data, mluOpDataType_t dtype, size_t i);
void put_bits(std::byte* data, mluOpDataType_t dtype, size_t i, uint64_t bits);
// Rounds to a floating-point type, ties to even; for an integer type, rounds down.
uint64_t bits_of_number(mluOpDataType_t dtype, double number);

}  // namespace mluop::cases
