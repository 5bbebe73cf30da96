// The atomics modes, and texts for SCOPED_TRACE.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "mlu_op.h"

namespace mluop::test {

inline constexpr mluOpAtomicsMode_t kAtomicsModes[] = {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED};

inline const char* text_of(mluOpAtomicsMode_t mode) {
  return mode == MLUOP_ATOMICS_ALLOWED ? "atomics allowed" : "atomics not allowed";
}

// Such as "2 x 50 x 6".
inline std::string product_text(std::initializer_list<int64_t> dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

}  // namespace mluop::test
