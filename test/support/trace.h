// The algorithms, and texts for SCOPED_TRACE.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "mlu_op_omp.h"

namespace mluop::test {

inline constexpr mluOpOmpAlgorithm_t kAlgorithms[] = {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE};

inline constexpr mluOpDataType_t kFloatingDtypes[] = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16};

inline const char* text_of(mluOpOmpAlgorithm_t algorithm) {
  return algorithm == MLUOP_OMP_ALGORITHM_DEVICE ? "device" : "native";
}

// Such as "2 x 50 x 6".
inline std::string product_text(std::initializer_list<int64_t> dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

}  // namespace mluop::test
