#include "reference/element.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace mluop::reference {
namespace {

// A format of 16 bits: mantissa bits and the exponent of the smallest normal number.
struct Format {
  uint32_t sign_of(double value) const { return std::signbit(value) ? 0x8000 : 0; }
  uint32_t infinity() const { return 0x8000U - (1U << mantissa_bits); }
  // The limit above which rounding to nearest gives infinity: half a unit beyond the largest number.
  double overflow() const { return std::ldexp(2 - std::ldexp(0.5, -mantissa_bits), 1 - lowest_exponent); }

  double value_of(uint32_t bits) const {
    const uint32_t magnitude = bits & 0x7FFF, mantissa = magnitude & ((1U << mantissa_bits) - 1);
    const int exponent = static_cast<int>(magnitude >> mantissa_bits);
    const double sign = bits == magnitude ? 1.0 : -1.0;
    if (magnitude >= infinity()) return mantissa == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    const uint32_t implicit = exponent == 0 ? 0 : 1U << mantissa_bits;
    return sign * std::ldexp(mantissa + implicit, std::max(exponent - 1, 0) + lowest_exponent - mantissa_bits);
  }

  uint16_t bits_of(double value) const {
    const double magnitude = std::abs(value);
    if (std::isnan(value)) {
      return static_cast<uint16_t>(sign_of(value) | infinity() | 1U << (mantissa_bits - 1));
    }
    if (magnitude >= overflow()) return static_cast<uint16_t>(sign_of(value) | infinity());
    // The unit in the last place: for subnormals the unit of the smallest normal number, otherwise 2^(exponent -
    // mantissa_bits).
    int exponent = lowest_exponent;
    if (magnitude >= std::ldexp(1, lowest_exponent)) exponent = std::ilogb(magnitude);
    // Adding 2^52 rounds to an integer number of units.
    const auto units = static_cast<uint32_t>((std::ldexp(magnitude, mantissa_bits - exponent) + 0x1p52) - 0x1p52);
    const auto binades = static_cast<uint32_t>(exponent - lowest_exponent);
    return static_cast<uint16_t>(sign_of(value) | (units + (binades << mantissa_bits)));
  }

  std::vector<float> all_values() const {
    std::vector<float> all;
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) all.push_back(static_cast<float>(value_of(bits)));
    return all;
  }

  int mantissa_bits, lowest_exponent;
};

constexpr Format kHalf{10, -14}, kBFloat16{7, -126};

}  // namespace

float to_f32(Half half) {
  static const std::vector<float> kAll = kHalf.all_values();
  return kAll[half.bits];
}

float to_f32(BFloat16 value) {
  static const std::vector<float> kAll = kBFloat16.all_values();
  return kAll[value.bits];
}

Half to_f16(double value) { return {kHalf.bits_of(value)}; }
BFloat16 to_bf16(double value) { return {kBFloat16.bits_of(value)}; }

}  // namespace mluop::reference
