// The element types of the oracles, under the names of the tests.
#pragma once

#include <type_traits>

#include "mlu_op.h"
#include "reference/element.h"

namespace mluop::test {

using reference::BFloat16;
using reference::Half;
using reference::to_bf16;
using reference::to_f16;
using reference::to_f32;

// The data type of T.
template <class T>
inline constexpr mluOpDataType_t kDtype = std::is_same_v<T, Half>       ? MLUOP_DTYPE_HALF
                                          : std::is_same_v<T, BFloat16> ? MLUOP_DTYPE_BFLOAT16
                                                                        : MLUOP_DTYPE_FLOAT;

}  // namespace mluop::test
