// Comparison of sums.
#pragma once

#include <cmath>
#include <cstdint>

namespace mluop::test {

// The result of an oracle in double for one element.
struct ExactSum {
  double value;
  double magnitude;  // the sum of the absolute values of the addends
};

// Whether `evaluated` is the sum of `terms` addends or products in fp32, in any order, rounded once to half for
// is_half. NaN and infinity must be those of the exact sum. The error of a sum in fp32 is at most
// (terms - 1) u times the magnitude, that of a product u times itself, u = 2^-24, or half the smallest subnormal.
inline bool is_sum(float evaluated, const ExactSum& exact, int64_t terms, bool is_half) {
  if (std::isnan(exact.value)) return std::isnan(evaluated);
  if (std::isinf(exact.value)) return static_cast<double>(evaluated) == exact.value;
  const double bound = static_cast<double>(terms + 2);
  double tolerance = bound * 0x1.1p-24 * exact.magnitude + bound * 0x1p-149;
  if (is_half) {
    constexpr double kNearOverflow = 65000;
    if (std::abs(exact.value) + tolerance > kNearOverflow) return !std::isnan(evaluated);
    tolerance += (std::abs(exact.value) + tolerance) * 0x1.1p-11 + 0x1p-25;
  }
  return std::abs(static_cast<double>(evaluated) - exact.value) <= tolerance;
}

}  // namespace mluop::test
