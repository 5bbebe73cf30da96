// The algorithms, and texts for SCOPED_TRACE.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "mlu_op_omp.h"

namespace mluop::test {

inline constexpr mluOpOmpAlgorithm_t kAlgorithms[] = {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE};

// Bfloat16 differs from half in its conversions, which CoreElement tests on every instruction set: it is left
// out where tests are.
inline const std::vector<mluOpDataType_t> kFloatingDtypes = [] {
  const char* const without = std::getenv("MLUOP_TEST_WITHOUT");
  std::vector dtypes = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF};
  if (without == nullptr || *without == '\0') dtypes.push_back(MLUOP_DTYPE_BFLOAT16);
  return dtypes;
}();

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
