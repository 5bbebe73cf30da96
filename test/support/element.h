// The element types of operators that take fp16 and fp32 tensors: float and Half.
#pragma once

#include <type_traits>

#include "support/half.h"

namespace mluop::test {

// The value rounded to T, ties to even.
template <class T>
T rounded_to(double value) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else {
    return to_f16(value);
  }
}

}  // namespace mluop::test
