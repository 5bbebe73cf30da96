// Comparisons after which a NaN never passes by accident.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/differences.h"

namespace mluop::test {

// The same bits; NaN equals NaN of any payload, because which of two NaN an addition hands on is the compiler's
// choice.
inline bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0 || (std::isnan(a) && std::isnan(b));
}

inline ::testing::AssertionResult same_bits(const std::vector<float>& evaluated,
                                            const std::vector<float>& baseline) {
  if (evaluated.size() != baseline.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < evaluated.size(); ++i) {
    if (!same_bits(evaluated[i], baseline[i])) {
      return ::testing::AssertionFailure()
             << "element " << i << " is " << evaluated[i] << ", expected " << baseline[i];
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace mluop::test
