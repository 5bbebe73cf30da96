// The element types of microkernels: fp32, or bfloat16 with AVX512-BF16, which adds the products of two elements
// at a time.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/simd.h"
#include "mlu_op.h"

namespace mluop {

// The number of elements in a 32-bit lane, whose products one instruction adds. Element: float or BFloat16.
template <class Element>
inline constexpr int64_t kStep = int64_t{sizeof(float) / sizeof(Element)};

// Whether AVX512-BF16 multiplies elements of dtype without conversion; otherwise they are multiplied in fp32.
inline bool has_dot_products(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_BFLOAT16 && has_bf16_dot_products();
}

// dispatch_dtype() with a second argument of the type that microkernels multiply: BFloat16 with AVX512-BF16,
// otherwise float.
template <class Select>
auto dispatch_element(mluOpDataType_t dtype, const Select& select) {
  if (has_dot_products(dtype)) return select(BFloat16{}, BFloat16{});
  return dispatch_dtype(dtype, [&](auto element) { return select(element, float{}); });
}

}  // namespace mluop
