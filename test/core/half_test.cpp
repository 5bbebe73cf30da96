// Conversions between half and float: every half, every tie, on every instruction set of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/half_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <vector>

#include "primitives/half-inl.h"

#ifndef MLUOP_TEST_HALF_CONVERSIONS
#define MLUOP_TEST_HALF_CONVERSIONS
namespace mluop::test {

// The vector conversions of an instruction set; counts are multiples of kMaxLanes.
constexpr size_t kMaxLanes = 16;
struct HalfConversions {
  int64_t target;
  void (*to_floats)(const Half* from, float* to, size_t count);
  void (*to_halves)(const float* from, Half* to, size_t count);
};

inline std::vector<HalfConversions>& all_conversions() {
  static std::vector<HalfConversions> all;
  return all;
}

}  // namespace mluop::test
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void to_floats(const Half* from, float* to, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    mluop::HWY_NAMESPACE::store_f32(mluop::HWY_NAMESPACE::load_f32(d, from + i), d, to + i);
  }
}

void to_halves(const float* from, Half* to, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    mluop::HWY_NAMESPACE::store_f32(mluop::HWY_NAMESPACE::load_f32(d, from + i), d, to + i);
  }
}

const bool kListed = (all_conversions().push_back({HWY_TARGET, to_floats, to_halves}), true);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace mluop::test {
namespace {

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
Half from_bits(uint32_t bits) { return {static_cast<uint16_t>(bits)}; }

// The value of a half by IEEE 754.
double value_of(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1F);
  const int mantissa = static_cast<int>(bits & 0x3FF);
  const double sign = bits >> 15 == 0 ? 1.0 : -1.0;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

// A conversion: scalar, or of an instruction set.
struct Conversion {
  std::string name;
  std::vector<float> (*floats)(const Conversion& conversion, const std::vector<Half>& halves);
  std::vector<Half> (*halves)(const Conversion& conversion, const std::vector<float>& floats);
  HalfConversions vectors;
};

template <class To, class From>
std::vector<To> by_vectors(std::vector<From> from, void (*convert)(const From*, To*, size_t)) {
  const size_t count = from.size();
  from.resize((count + kMaxLanes - 1) / kMaxLanes * kMaxLanes);
  std::vector<To> to(from.size());
  convert(from.data(), to.data(), from.size());
  to.resize(count);
  return to;
}

std::vector<Conversion> conversions() {
  std::vector<Conversion> all;
  all.push_back({"scalar",
                 [](const Conversion&, const std::vector<Half>& halves) {
                   std::vector<float> floats;
                   for (const Half half : halves) floats.push_back(f16_to_f32(half));
                   return floats;
                 },
                 [](const Conversion&, const std::vector<float>& floats) {
                   std::vector<Half> halves;
                   for (const float value : floats) halves.push_back(f32_to_f16(value));
                   return halves;
                 },
                 {}});
  for (const HalfConversions& vectors : all_conversions()) {
    if ((hwy::SupportedTargets() & vectors.target) == 0) continue;
    all.push_back({hwy::TargetName(vectors.target),
                   [](const Conversion& conversion, const std::vector<Half>& halves) {
                     return by_vectors<float>(halves, conversion.vectors.to_floats);
                   },
                   [](const Conversion& conversion, const std::vector<float>& floats) {
                     return by_vectors<Half>(floats, conversion.vectors.to_halves);
                   },
                   vectors});
  }
  return all;
}

std::vector<Half> all_halves() {
  std::vector<Half> halves;
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) halves.push_back(from_bits(bits));
  return halves;
}

bool is_nan(Half half) { return (half.bits & 0x7FFF) > 0x7C00; }

TEST(CoreHalf, EveryHalfToFloat) {
  const auto halves = all_halves();
  for (const Conversion& conversion : conversions()) {
    SCOPED_TRACE(conversion.name);
    const auto floats = conversion.floats(conversion, halves);
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const float found = floats[bits];
      const uint32_t expected = is_nan(halves[bits]) ? (bits & 0x8000) << 16 | 0x7FC00000 | (bits & 0x3FF) << 13
                                                     : bits_of(static_cast<float>(value_of(bits)));
      ASSERT_EQ(bits_of(found), expected) << "half " << bits;
    }
  }
}

TEST(CoreHalf, EveryHalfRoundTrips) {
  const auto halves = all_halves();
  for (const Conversion& conversion : conversions()) {
    SCOPED_TRACE(conversion.name);
    const auto back = conversion.halves(conversion, conversion.floats(conversion, halves));
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const uint32_t expected = is_nan(halves[bits]) ? bits | 0x200 : bits;
      ASSERT_EQ(back[bits].bits, expected) << "half " << bits;
    }
  }
}

// The float halfway between consecutive halves rounds to even, the adjacent floats to the nearest half.
TEST(CoreHalf, EveryTie) {
  std::vector<float> floats;
  std::vector<uint32_t> expected;
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    // The value after 65504 would be 65536.
    const double above = bits == 0x7BFF ? 65536.0 : value_of(bits + 1);
    const auto middle = static_cast<float>((value_of(bits) + above) / 2);
    for (const uint32_t sign : {0U, 0x8000U}) {
      const float signed_middle = sign == 0 ? middle : -middle;
      floats.insert(floats.end(),
                    {float_of(bits_of(signed_middle) - 1), signed_middle, float_of(bits_of(signed_middle) + 1)});
      expected.insert(expected.end(), {sign | bits, sign | (bits + (bits & 1)), sign | (bits + 1)});
    }
  }
  for (const Conversion& conversion : conversions()) {
    SCOPED_TRACE(conversion.name);
    const auto halves = conversion.halves(conversion, floats);
    for (size_t i = 0; i < floats.size(); ++i) ASSERT_EQ(halves[i].bits, expected[i]) << floats[i];
  }
}

TEST(CoreHalf, LimitsToHalf) {
  struct Edge {
    uint32_t bits;
    uint32_t half;
  };
  const Edge kEdges[] = {
      {0x00000000, 0x0000}, {0x80000000, 0x8000},  // zeros keep their sign
      {0x00000001, 0x0000}, {0x807FFFFF, 0x8000},  // subnormal floats become 0
      {0x00800000, 0x0000},                        // the smallest normal float
      {0x477FE000, 0x7BFF},                        // 65504, the largest half
      {0x477FEFFF, 0x7BFF}, {0x477FF000, 0x7C00},  // below 65520, and 65520
      {0x47800000, 0x7C00}, {0x7F7FFFFF, 0x7C00},  // 65536 and the largest float
      {0x7F800000, 0x7C00}, {0xFF800000, 0xFC00},  // infinity
      {0x7FC00000, 0x7E00}, {0xFFC00000, 0xFE00},  // quiet NaN
      {0x7F800001, 0x7E00}, {0x7FA00000, 0x7F00},  // signalling NaN
      {0xFFFFFFFF, 0xFFFF}, {0x7F802000, 0x7E01},  // the upper ten bits of payloads
  };
  std::vector<float> floats;
  for (const Edge& edge : kEdges) floats.push_back(float_of(edge.bits));
  for (const Conversion& conversion : conversions()) {
    SCOPED_TRACE(conversion.name);
    const auto halves = conversion.halves(conversion, floats);
    for (size_t i = 0; i < floats.size(); ++i) {
      EXPECT_EQ(halves[i].bits, kEdges[i].half) << std::hex << kEdges[i].bits;
    }
  }
}

// A sample of all floats, against the definition of rounding.
TEST(CoreHalf, FloatsOfAllMagnitudes) {
  std::vector<float> floats;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 65521)
    floats.push_back(float_of(static_cast<uint32_t>(bits)));
  for (const Conversion& conversion : conversions()) {
    SCOPED_TRACE(conversion.name);
    const auto halves = conversion.halves(conversion, floats);
    for (size_t i = 0; i < floats.size(); ++i) {
      if (std::isnan(floats[i])) {
        ASSERT_TRUE(is_nan(halves[i])) << i;
        continue;
      }
      ASSERT_EQ(halves[i].bits >> 15, bits_of(floats[i]) >> 31) << i;
      const uint32_t found = halves[i].bits & 0x7FFF;
      const double value = std::abs(static_cast<double>(floats[i]));
      if (found == 0x7C00) {
        ASSERT_GE(value, 65520.0);
        continue;
      }
      // No adjacent half is nearer.
      const double error = std::abs(value_of(found) - value);
      ASSERT_LE(error, std::abs(value_of(found + 1) - value)) << i;
      ASSERT_LE(error, std::abs(value_of(std::max(found, 1U) - 1) - value)) << i;
    }
  }
}

}  // namespace
}  // namespace mluop::test
#endif
