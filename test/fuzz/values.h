// The data of tensors: a kind and a seed, decoded from the bytes of a fuzzer.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "fuzz/decoder.h"
#include "support/element.h"

namespace mluop::fuzz {

enum class Kind {
  kIntegers,    // -2 to 2: sums are exact
  kFractions,   // [-1, 1)
  kMagnitudes,  // of very different exponents
  kSubnormals,
  kSpecials,  // fractions, and one in eight NaN, infinity or -0
  kAnyBits,   // NaN with payload, infinity and the largest numbers
};

class Values {
 public:
  // Without any_bits, no sum of products of 2^20 elements overflows fp32.
  Values(Decoder& decoder, bool any_bits) {
    kind_ = static_cast<Kind>(decoder.number(0, any_bits ? 5 : 4));
    random_.seed(static_cast<uint64_t>(decoder.number(0, UINT16_MAX)));
  }

  uint32_t bits() { return static_cast<uint32_t>(random_() >> 32); }
  int64_t below(int64_t count) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(count)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }

  template <class T>
  void fill(T* elements, size_t count) {
    for (size_t i = 0; i < count; ++i) elements[i] = next<T>();
  }

 private:
  template <class T>
  T next() {
    if (kind_ == Kind::kAnyBits) {
      const uint32_t any = bits();
      T element;
      std::memcpy(&element, &any, sizeof(element));
      return element;
    }
    return test::rounded_to<T>(number(sizeof(T) == sizeof(float)));
  }

  double number(bool is_float) {
    const double fraction = static_cast<double>(bits() >> 8) * 0x1p-23 - 1;
    switch (kind_) {
      case Kind::kIntegers: return static_cast<double>(between(-2, 2));
      case Kind::kMagnitudes:
        return std::ldexp(fraction, static_cast<int>(is_float ? between(-60, 45) : between(-20, 15)));
      case Kind::kSubnormals: return std::ldexp(fraction, is_float ? -126 : -14);
      case Kind::kSpecials: return below(8) == 0 ? special() : fraction;
      default: return fraction;
    }
  }

  double special() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -0.0};
    return kSpecials[below(4)];
  }

  Kind kind_;
  // Knuth's MMIX generator: seeding costs nothing.
  std::linear_congruential_engine<uint64_t, 6364136223846793005U, 1442695040888963407U, 0> random_;
};

}  // namespace mluop::fuzz
