// Comparisons of bits. A NaN equals only a NaN.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "case/differences.h"

namespace mluop::test {

// Equal bits, or NaN of any payloads: IEEE 754 does not specify which payload an addition of two NaN returns.
inline bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

inline ::testing::AssertionResult same_bits(const std::vector<float>& evaluated,
                                            const std::vector<float>& baseline) {
  const auto are_same = [](float a, float b) { return same_bits(a, b); };
  const auto [e, b] =
      std::mismatch(evaluated.begin(), evaluated.end(), baseline.begin(), baseline.end(), are_same);
  if (e == evaluated.end() && b == baseline.end()) return ::testing::AssertionSuccess();
  if (evaluated.size() != baseline.size()) return ::testing::AssertionFailure() << "sizes differ";
  return ::testing::AssertionFailure() << "element " << e - evaluated.begin() << " is " << *e << ", expected "
                                       << *b;
}

}  // namespace mluop::test
