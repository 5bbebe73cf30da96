#include "support/values.h"

#include <cmath>
#include <limits>
#include <random>

#include "case/data.h"

namespace mluop::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Draws the bits of elements with the given kind of values.
class Generator {
 public:
  Generator(Values values, mluOpDataType_t dtype, int32_t seed)
      : values_(values), dtype_(dtype), random_(static_cast<uint64_t>(seed)) {}

  uint64_t next() { return values_ == Values::kAnyBits ? bits() : cases::bits_of_number(dtype_, number()); }

 private:
  uint32_t bits() { return static_cast<uint32_t>(random_() >> 32); }
  int between(int low, int high) { return low + static_cast<int>(bits() % static_cast<uint32_t>(high - low + 1)); }

  double number() {
    constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -0.0};
    const bool is_half = cases::part_type(dtype_) == MLUOP_DTYPE_HALF;
    const double fraction = static_cast<double>(bits() >> 8) * 0x1p-23 - 1;
    switch (values_) {
      case Values::kIntegers: return between(0, 2);
      case Values::kMagnitudes: return std::ldexp(fraction, is_half ? between(-20, 15) : between(-60, 45));
      case Values::kSubnormals: return std::ldexp(fraction, is_half ? -14 : -126);
      case Values::kSpecials: return between(0, 7) == 0 ? kSpecials[between(0, 3)] : fraction;
      default: return fraction;
    }
  }

  Values values_;
  mluOpDataType_t dtype_;
  // Knuth's MMIX generator is seeded at no cost.
  std::linear_congruential_engine<uint64_t, 6364136223846793005U, 1442695040888963407U, 0> random_;
};

bool holds_any_values(const cases::Tensor& tensor) {
  return cases::is_floating(tensor.dtype) && tensor.elements.source == cases::Elements::Source::kRandom;
}

// Replaces the elements of a tensor by change(i, element).
template <class Change>
void change_elements(cases::Tensor& tensor, const Change& change) {
  const cases::Bytes before = cases::load(tensor, tensor.elements, "");
  set_elements(tensor, [&](size_t i) {
    return cases::bits_of_number(tensor.dtype, change(i, cases::number_at(before.data(), tensor.dtype, i)));
  });
}

}  // namespace

const char* text_of(Values values) {
  constexpr const char* kTexts[] = {"fractions", "integers", "magnitudes", "subnormals", "specials", "any bits"};
  return kTexts[static_cast<size_t>(values)];
}

cases::Case with_values(const cases::Case& made, Values values, int32_t seed) {
  cases::Case result = made;
  for (cases::Tensor& tensor : result.inputs) {
    if (!holds_any_values(tensor)) continue;
    Generator generator(values, tensor.dtype, seed++);
    set_elements(tensor, [&](size_t) { return generator.next(); });
  }
  return result;
}

cases::Case scaled(const cases::Case& made, double factor) {
  cases::Case result = made;
  for (cases::Tensor& tensor : result.inputs) {
    if (cases::is_floating(tensor.dtype)) {
      change_elements(tensor, [&](size_t, double element) { return element * factor; });
    }
  }
  for (cases::Parameter& parameter : result.parameters.all) parameter.real *= factor;
  return result;
}

cases::Case with_overflows(const cases::Case& made) {
  cases::Case result = made;
  for (cases::Tensor& tensor : result.inputs) {
    if (!holds_any_values(tensor)) continue;
    const mluOpDataType_t type = cases::part_type(tensor.dtype);
    const double largest = type == MLUOP_DTYPE_HALF       ? 65504
                           : type == MLUOP_DTYPE_BFLOAT16 ? 0x1.FEp127
                                                          : double{std::numeric_limits<float>::max()};
    const double values[] = {kInfinity, largest, -kInfinity, largest, largest};
    change_elements(tensor, [&](size_t i, double element) {
      return i % 97 == 0 ? values[i / 97 % std::size(values)] : element;
    });
    break;
  }
  return result;
}

}  // namespace mluop::test
