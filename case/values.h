// Elements of tensors: sizes, names, conversions between bits and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "case/model.h"

namespace mluop::cases {

size_t element_size(mluOpDataType_t dtype);
// "half", "int32"
std::string_view dtype_name(mluOpDataType_t dtype);
// MLUOP_DTYPE_INVALID for an invalid name.
mluOpDataType_t dtype_of_name(std::string_view name);
std::string_view layout_name(mluOpTensorLayout_t layout);
bool is_layout_name(std::string_view name);
// Requires a valid name.
mluOpTensorLayout_t layout_of_name(std::string_view name);
bool is_floating(mluOpDataType_t dtype);

// Element i as a number; for types that operators do not accept, such as INT31, the bits as an integer.
double number_at(const std::byte* data, mluOpDataType_t dtype, size_t i);
// The bits of element i, zero-extended.
uint64_t bits_at(const std::byte* data, mluOpDataType_t dtype, size_t i);
void put_bits(std::byte* data, mluOpDataType_t dtype, size_t i, uint64_t bits);
// Rounds to a floating-point type, ties to even; for an integer type, rounds down.
uint64_t bits_of_number(mluOpDataType_t dtype, double number);

}  // namespace mluop::cases
