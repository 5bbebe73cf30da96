// Comparisons after which a NaN never passes by accident.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

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

// diff1: mean relative error; diff2: root relative error. Infinity where they are not defined, or where NaN and
// infinity are not at the same places.
struct Differences {
  double diff1;
  double diff2;
};

inline Differences differences(const std::vector<float>& evaluated, const std::vector<float>& baseline) {
  const Differences failed{HUGE_VAL, HUGE_VAL};
  if (evaluated.size() != baseline.size()) return failed;
  double error = 0, size = 0, error2 = 0, size2 = 0;
  for (size_t i = 0; i < evaluated.size(); ++i) {
    const double e = evaluated[i];
    const double b = baseline[i];
    if (!std::isfinite(e) || !std::isfinite(b)) {
      if (!(e == b || (std::isnan(e) && std::isnan(b)))) return failed;
      continue;
    }
    error += std::abs(e - b);
    size += std::abs(b);
    error2 += (e - b) * (e - b);
    size2 += b * b;
  }
  const auto ratio = [](double numerator, double denominator) {
    return numerator == 0 ? 0 : denominator == 0 ? HUGE_VAL : numerator / denominator;
  };
  return {ratio(error, size), std::sqrt(ratio(error2, size2))};
}

}  // namespace mluop::test
