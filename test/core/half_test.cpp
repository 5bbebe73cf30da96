// Conversions between half and float: every half, every tie, on every instruction set of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/half_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "primitives/half-inl.h"

#ifndef MLUOP_TEST_HALF_CONVERSIONS
#define MLUOP_TEST_HALF_CONVERSIONS
namespace mluop::test {

// Converts `count` elements, a multiple of kMaxLanes.
template <class From, class To>
using Convert = void (*)(const From* from, To* to, size_t count);
constexpr size_t kMaxLanes = 16;

// Scalar, or of an instruction set.
struct HalfConversions {
  int64_t target;  // 0: scalar
  Convert<Half, float> to_floats;
  Convert<float, Half> to_halves;
};

inline std::vector<HalfConversions>& all_conversions() {
  static std::vector<HalfConversions> all = {
      {0, [](const Half* from, float* to, size_t count) { std::transform(from, from + count, to, f16_to_f32); },
       [](const float* from, Half* to, size_t count) { std::transform(from, from + count, to, f32_to_f16); }}};
  return all;
}

}  // namespace mluop::test
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class From, class To>
void convert(const From* from, To* to, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    mluop::HWY_NAMESPACE::store_f32(mluop::HWY_NAMESPACE::load_f32(d, from + i), d, to + i);
  }
}

const bool kListed = (all_conversions().push_back({HWY_TARGET, convert<Half, float>, convert<float, Half>}), true);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace mluop::test {
namespace {

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
bool is_nan(uint32_t half) { return (half & 0x7FFF) > 0x7C00; }

// The value of a half that is no NaN, by IEEE 754. That of infinity is 2^16, which the rounding of finite floats
// has.
double value_of(uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 0x1F);
  const int mantissa = static_cast<int>(half & 0x3FF);
  const double sign = half >> 15 == 0 ? 1.0 : -1.0;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

// Calls test(conversions) for the scalar conversions and those of each instruction set of this machine.
template <class Test>
void for_each_conversion(const Test& test) {
  for (const HalfConversions& conversions : all_conversions()) {
    if (conversions.target != 0 && (hwy::SupportedTargets() & conversions.target) == 0) continue;
    SCOPED_TRACE(conversions.target == 0 ? "scalar" : hwy::TargetName(conversions.target));
    test(conversions);
  }
}

template <class From, class To>
std::vector<To> converted(std::vector<From> from, Convert<From, To> convert) {
  const size_t count = from.size();
  from.resize((count + kMaxLanes - 1) / kMaxLanes * kMaxLanes);
  std::vector<To> to(from.size());
  convert(from.data(), to.data(), from.size());
  to.resize(count);
  return to;
}

// To float and back.
TEST(CoreHalf, EveryHalf) {
  std::vector<Half> halves;
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) halves.push_back({static_cast<uint16_t>(bits)});
  for_each_conversion([&](const HalfConversions& conversions) {
    const auto floats = converted(halves, conversions.to_floats);
    const auto back = converted(floats, conversions.to_halves);
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const bool is_infinite = (bits & 0x7FFF) == 0x7C00;
      const auto expected = is_infinite ? std::copysign(HUGE_VALF, value_of(bits)) : value_of(bits);
      ASSERT_EQ(bits_of(floats[bits]), is_nan(bits) ? (bits & 0x8000) << 16 | 0x7FC00000 | (bits & 0x3FF) << 13
                                                    : bits_of(static_cast<float>(expected)))
          << "half " << bits;
      ASSERT_EQ(back[bits].bits, is_nan(bits) ? bits | 0x200 : bits) << "half " << bits;
    }
  });
}

// A sample of all floats, the float halfway between consecutive halves, which rounds to even, and the adjacent
// floats.
TEST(CoreHalf, RoundsToNearest) {
  std::vector<float> floats;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 65521) {
    const float value = float_of(static_cast<uint32_t>(bits));
    if (std::isfinite(value)) floats.push_back(value);
  }
  for (uint32_t half = 0; half < 0x7C00; ++half) {
    for (const uint32_t sign : {0U, 0x8000U}) {
      const auto middle = static_cast<float>((value_of(sign | half) + value_of(sign | (half + 1))) / 2);
      floats.insert(floats.end(), {float_of(bits_of(middle) - 1), middle, float_of(bits_of(middle) + 1)});
    }
  }
  for_each_conversion([&](const HalfConversions& conversions) {
    const auto halves = converted(floats, conversions.to_halves);
    for (size_t i = 0; i < floats.size(); ++i) {
      const double value = std::abs(double{floats[i]});
      const uint32_t found = halves[i].bits & 0x7FFF;
      ASSERT_EQ(halves[i].bits >> 15, bits_of(floats[i]) >> 31) << floats[i];
      ASSERT_LE(found, 0x7C00U) << floats[i];
      // Larger values become infinity. Otherwise no adjacent half is nearer, and an odd one is not as near.
      if (value >= 65536) {
        ASSERT_EQ(found, 0x7C00U) << floats[i];
        continue;
      }
      const double error = std::abs(value_of(found) - value);
      for (const uint32_t other : {found + 1, found == 0 ? 0 : found - 1}) {
        const double other_error = std::abs(value_of(other) - value);
        ASSERT_TRUE(found % 2 == 0 ? error <= other_error : error < other_error) << floats[i];
      }
    }
  });
}

TEST(CoreHalf, LimitsToHalf) {
  constexpr struct {
    uint32_t bits, half;
  } kEdges[] = {
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
  for (const auto& edge : kEdges) floats.push_back(float_of(edge.bits));
  for_each_conversion([&](const HalfConversions& conversions) {
    const auto halves = converted(floats, conversions.to_halves);
    for (size_t i = 0; i < floats.size(); ++i) {
      EXPECT_EQ(halves[i].bits, kEdges[i].half) << std::hex << kEdges[i].bits;
    }
  });
}

}  // namespace
}  // namespace mluop::test
#endif
