// Properties of element types and layouts: sizes, names, and the selection of a kernel by element type.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/half.h"
#include "mlu_op.h"

namespace mluop {

// Bytes of an element; 0 for MLUOP_DTYPE_INVALID and for values that are not enumerators.
size_t size_of(mluOpDataType_t dtype);

// "FLOAT" for MLUOP_DTYPE_FLOAT; "INVALID" for values that are not enumerators.
std::string_view name_of(mluOpDataType_t dtype);

// "ARRAY" for MLUOP_LAYOUT_ARRAY; "" for values that are not enumerators.
std::string_view name_of(mluOpTensorLayout_t layout);

// Returns select(element), where `element` is a Half if dtype is HALF, else a float: the one place that turns the
// element type of a call into that of a template.
template <class Select>
auto dispatch_dtype(mluOpDataType_t dtype, const Select& select) {
  return dtype == MLUOP_DTYPE_HALF ? select(Half{}) : select(float{});
}

}  // namespace mluop
