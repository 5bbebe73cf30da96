// Conversions of half and bfloat16 from and to float: every number, every tie, on every instruction set of this
// machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/element_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "primitives/simd/elements-inl.h"

#ifndef MLUOP_TEST_CONVERSIONS
#define MLUOP_TEST_CONVERSIONS
namespace mluop::test {

// Conversions of `count` elements, a multiple of kMaxLanes: scalar, or for one instruction set.
template <class T>
struct Conversions {
  int64_t target;  // 0: scalar
  void (*to_floats)(const T* from, float* to, size_t count);
  void (*from_floats)(const float* from, T* to, size_t count);
};
constexpr size_t kMaxLanes = 16;

template <class T>
std::vector<Conversions<T>>& all_conversions() {
  static std::vector<Conversions<T>> all = {{0,
                                             [](const T* from, float* to, size_t count) {
                                               std::transform(from, from + count, to,
                                                              [](T each) { return to_f32(each); });
                                             },
                                             [](const float* from, T* to, size_t count) {
                                               for (size_t i = 0; i < count; ++i) round_to(from[i], to + i);
                                             }}};
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

template <class T>
bool list() {
  all_conversions<T>().push_back({HWY_TARGET, convert<T, float>, convert<float, T>});
  return true;
}

const bool kListed = list<Half>() && list<BFloat16>();

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

struct Edge {
  uint32_t bits, rounded;
};

// The format as IEEE 754 defines it.
template <class T>
struct Format;
template <>
struct Format<Half> {
  static constexpr int kMantissaBits = 10, kLowestExponent = -14;
  static constexpr Edge kEdges[] = {
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
};
template <>
struct Format<BFloat16> {
  static constexpr int kMantissaBits = 7, kLowestExponent = -126;
  static constexpr Edge kEdges[] = {
      {0x00000001, 0x0000}, {0x80008000, 0x8000},  // at most half of the smallest number
      {0x00008001, 0x0001}, {0x807FFFFF, 0x8080},  // subnormal floats
      {0x00800000, 0x0080},                        // the smallest normal float
      {0x7F7F7FFF, 0x7F7F}, {0x7F7F8000, 0x7F80},  // below the largest and half a unit, and these
      {0x7F7FFFFF, 0x7F80},                        // the largest float
      {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80},  // infinity
      {0x7FC00000, 0x7FC0}, {0xFFC00000, 0xFFC0},  // quiet NaN
      {0x7F800001, 0x7FC0}, {0x7FA00000, 0x7FE0},  // signalling NaN
      {0xFFFFFFFF, 0xFFFF}, {0x7F810000, 0x7FC1},  // the upper seven bits of payloads
  };
};

template <class T>
class CoreElement : public ::testing::Test {
 protected:
  static constexpr uint32_t kQuiet = 1U << (Format<T>::kMantissaBits - 1);
  static constexpr uint32_t kInfinity = 0x8000U - 2 * kQuiet;
  static constexpr int kUnused = 23 - Format<T>::kMantissaBits;  // bits of the mantissa of fp32

  static bool is_nan(uint32_t bits) { return (bits & 0x7FFF) > kInfinity; }

  // The value of a number. Infinity has the value of the next power of two, as in the rounding of finite floats.
  static double value_of(uint32_t bits) {
    const int exponent = static_cast<int>((bits & 0x7FFF) >> Format<T>::kMantissaBits);
    const auto mantissa = static_cast<int>(bits & (2 * kQuiet - 1)), implicit = static_cast<int>(2 * kQuiet);
    const int unit = Format<T>::kLowestExponent - Format<T>::kMantissaBits;
    const double sign = bits >> 15 == 0 ? 1.0 : -1.0;
    return sign *
           (exponent == 0 ? std::ldexp(mantissa, unit) : std::ldexp(implicit + mantissa, unit + exponent - 1));
  }

  // Calls test(conversions) for the scalar conversions and the conversions of each instruction set of this
  // machine.
  template <class Test>
  static void for_each_conversion(const Test& test) {
    for (const Conversions<T>& conversions : all_conversions<T>()) {
      if (conversions.target != 0 && (hwy::SupportedTargets() & conversions.target) == 0) continue;
      SCOPED_TRACE(conversions.target == 0 ? "scalar" : hwy::TargetName(conversions.target));
      test(conversions);
    }
  }

  template <class From, class To>
  static std::vector<To> converted(std::vector<From> from, void (*convert)(const From*, To*, size_t)) {
    const size_t count = from.size();
    from.resize((count + kMaxLanes - 1) / kMaxLanes * kMaxLanes);
    std::vector<To> to(from.size());
    convert(from.data(), to.data(), from.size());
    to.resize(count);
    return to;
  }
};

struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return std::is_same_v<T, Half> ? "Half" : "BFloat16";
  }
};
using Types = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(CoreElement, Types, TypeNames);

// To float and back.
TYPED_TEST(CoreElement, EveryNumber) {
  std::vector<TypeParam> all;
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) all.push_back({static_cast<uint16_t>(bits)});
  this->for_each_conversion([&](const auto& conversions) {
    const auto floats = this->converted(all, conversions.to_floats);
    const auto back = this->converted(floats, conversions.from_floats);
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      if (this->is_nan(bits)) {
        // Half is made quiet when converted to fp32, bfloat16 when converted back.
        const uint32_t quiet = bits | this->kQuiet;
        const uint32_t payload = (quiet & (this->kQuiet - 1)) << this->kUnused;
        ASSERT_EQ(bits_of(floats[bits]) | 0x400000, (bits & 0x8000) << 16 | 0x7FC00000 | payload) << bits;
        ASSERT_EQ(back[bits].bits, quiet) << bits;
        continue;
      }
      const bool is_infinite = (bits & 0x7FFF) == this->kInfinity;
      const auto value = this->value_of(bits);
      ASSERT_EQ(bits_of(floats[bits]),
                bits_of(is_infinite ? std::copysign(HUGE_VALF, static_cast<float>(value < 0 ? -1 : 1))
                                    : static_cast<float>(value)))
          << bits;
      ASSERT_EQ(back[bits].bits, bits);
    }
  });
}

// A sample of all floats, the float halfway between consecutive numbers, which rounds to even, and the adjacent
// floats.
TYPED_TEST(CoreElement, RoundsToNearest) {
  std::vector<float> floats;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 65521) {
    const float value = float_of(static_cast<uint32_t>(bits));
    if (std::isfinite(value)) floats.push_back(value);
  }
  for (uint32_t each = 0; each < this->kInfinity; ++each) {
    for (const uint32_t sign : {0U, 0x8000U}) {
      const auto middle =
          static_cast<float>((this->value_of(sign | each) + this->value_of(sign | (each + 1))) / 2);
      floats.insert(floats.end(), {float_of(bits_of(middle) - 1), middle, float_of(bits_of(middle) + 1)});
    }
  }
  const double infinite_from = this->value_of(this->kInfinity);
  this->for_each_conversion([&](const auto& conversions) {
    const auto rounded = this->converted(floats, conversions.from_floats);
    for (size_t i = 0; i < floats.size(); ++i) {
      const double value = std::abs(double{floats[i]});
      const uint32_t found = rounded[i].bits & 0x7FFF;
      ASSERT_EQ(rounded[i].bits >> 15, bits_of(floats[i]) >> 31) << floats[i];
      ASSERT_LE(found, this->kInfinity) << floats[i];
      // Larger values become infinity. Otherwise no adjacent number may be nearer, and at a tie the number is
      // even.
      if (value >= infinite_from) {
        ASSERT_EQ(found, this->kInfinity) << floats[i];
        continue;
      }
      const double error = std::abs(this->value_of(found) - value);
      for (const uint32_t other : {found + 1, found == 0 ? 0 : found - 1}) {
        const double other_error = std::abs(this->value_of(other) - value);
        ASSERT_TRUE(found % 2 == 0 ? error <= other_error : error < other_error) << floats[i];
      }
    }
  });
}

TYPED_TEST(CoreElement, Limits) {
  std::vector<Edge> edges = {{0x00000000, 0x0000}, {0x80000000, 0x8000}};  // zeros keep their sign
  edges.insert(edges.end(), std::begin(Format<TypeParam>::kEdges), std::end(Format<TypeParam>::kEdges));
  std::vector<float> floats;
  for (const Edge& edge : edges) floats.push_back(float_of(edge.bits));
  this->for_each_conversion([&](const auto& conversions) {
    const auto rounded = this->converted(floats, conversions.from_floats);
    for (size_t i = 0; i < floats.size(); ++i) {
      EXPECT_EQ(rounded[i].bits, edges[i].rounded) << std::hex << edges[i].bits;
    }
  });
}

}  // namespace
}  // namespace mluop::test
#endif
