#include "reference/half.h"

#include <cmath>
#include <limits>
#include <vector>

namespace mluop::reference {
namespace {

double half_value(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1F);
  const int mantissa = static_cast<int>(bits & 0x3FF);
  const double sign = (bits & 0x8000) == 0 ? 1.0 : -1.0;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

}  // namespace

float to_f32(Half half) {
  static const std::vector<float> kAll = [] {
    std::vector<float> all;
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) all.push_back(static_cast<float>(half_value(bits)));
    return all;
  }();
  return kAll[half.bits];
}

Half to_f16(double value) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return {static_cast<uint16_t>(sign | 0x7E00)};
  if (magnitude >= 65520) return {static_cast<uint16_t>(sign | 0x7C00)};
  // Units of the last place: 2^-24 below the smallest normal half, else 2^(exponent - 10).
  int exponent = -14;
  if (magnitude >= 0x1p-14) exponent = std::ilogb(magnitude);
  // Adding 2^52 rounds to an integer number of units.
  const auto units = static_cast<uint32_t>((std::ldexp(magnitude, 10 - exponent) + 0x1p52) - 0x1p52);
  return {static_cast<uint16_t>(sign | (units + static_cast<uint32_t>(exponent + 14) * 1024))};
}

}  // namespace mluop::reference
