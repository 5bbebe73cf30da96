// Properties of element types and layouts: sizes, names, and the selection of a kernel by element type.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/element.h"
#include "mlu_op.h"

namespace mluop {

// Bytes of an element; 0 for MLUOP_DTYPE_INVALID and for values that are not enumerators.
size_t size_of(mluOpDataType_t dtype);

// "FLOAT" for MLUOP_DTYPE_FLOAT; "INVALID" for values that are not enumerators.
std::string_view name_of(mluOpDataType_t dtype);

// "ARRAY" for MLUOP_LAYOUT_ARRAY; "" for values that are not enumerators.
std::string_view name_of(mluOpTensorLayout_t layout);

// Whether elements are an Element16.
constexpr bool is_16_bit(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF || dtype == MLUOP_DTYPE_BFLOAT16;
}

// Returns select(element), where `element` is a Half if dtype is HALF, a BFloat16 if it is BFLOAT16, else a float.
// The only place that turns the element type of a call into a template argument.
template <class Select>
auto dispatch_dtype(mluOpDataType_t dtype, const Select& select) {
  if (dtype == MLUOP_DTYPE_HALF) return select(Half{});
  return dtype == MLUOP_DTYPE_BFLOAT16 ? select(BFloat16{}) : select(float{});
}

// For kernels that only copy elements: `element` is a Half for every 16-bit type.
template <class Select>
auto dispatch_size(mluOpDataType_t dtype, const Select& select) {
  return is_16_bit(dtype) ? select(Half{}) : select(float{});
}

}  // namespace mluop
