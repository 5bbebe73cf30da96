// The algorithms, and texts for SCOPED_TRACE.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "mlu_op_omp.h"
#include "support/labels.h"

namespace mluop::test {

inline constexpr mluOpOmpAlgorithm_t kAlgorithms[] = {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE};

inline const std::vector<mluOpDataType_t> kFloatingDtypes = [] {
  std::vector dtypes = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF};
  if (!is_left_out({Label::kBfloat16})) dtypes.push_back(MLUOP_DTYPE_BFLOAT16);
  return dtypes;
}();

inline const char* text_of(mluOpOmpAlgorithm_t algorithm) {
  return algorithm == MLUOP_OMP_ALGORITHM_DEVICE ? "device" : "native";
}

// Returns a text such as "2 x 50 x 6".
inline std::string product_text(std::initializer_list<int64_t> dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

}  // namespace mluop::test
