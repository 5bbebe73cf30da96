// What the library knows of element types and layouts: sizes and names.
#pragma once

#include <cstddef>
#include <string_view>

#include "mlu_op.h"

namespace mluop {

// Bytes of an element; 0 for MLUOP_DTYPE_INVALID and for what is no enumerator.
size_t size_of(mluOpDataType_t dtype);

// "FLOAT" for MLUOP_DTYPE_FLOAT; "INVALID" for what is no enumerator.
std::string_view name_of(mluOpDataType_t dtype);

// "ARRAY" for MLUOP_LAYOUT_ARRAY; "" for what is no enumerator.
std::string_view name_of(mluOpTensorLayout_t layout);

}  // namespace mluop
