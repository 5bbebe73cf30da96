#include "compare/patterns/traits.h"

namespace mluop::compare {
namespace {

// The relative error of a few roundings to the type.
double roundings(mluOpDataType_t dtype) {
  constexpr double kFew = 4;
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return kFew * 0x1p-11;
    case MLUOP_DTYPE_BFLOAT16: return kFew * 0x1p-8;
    case MLUOP_DTYPE_FLOAT: return kFew * 0x1p-24;
    default: return kFew * 0x1p-53;
  }
}

double least_normal_of(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return 0x1p-14;
    case MLUOP_DTYPE_BFLOAT16:
    case MLUOP_DTYPE_FLOAT: return 0x1p-126;
    case MLUOP_DTYPE_DOUBLE: return 0x1p-1022;
    default: return 0;
  }
}

// Whether e is a value of `dtype` that b rounds to, up or down.
bool is_rounded_to(mluOpDataType_t dtype, const Pair& pair) {
  if (!pair.is_finite()) return false;
  const Elements e{MLUOP_DTYPE_DOUBLE, reinterpret_cast<const std::byte*>(&pair.e)};
  const Elements b{MLUOP_DTYPE_DOUBLE, reinterpret_cast<const std::byte*>(&pair.b)};
  if (rounded(dtype, pair.e) != pair.e) return false;
  uint64_t e_bits, b_bits;
  round_bits(dtype, e, 0, 1, &pair.e, &e_bits);
  round_bits(dtype, b, 0, 1, &pair.b, &b_bits);
  return distance_of(key_of_bits(dtype, e_bits), key_of_bits(dtype, b_bits)) <= 1;
}

// The traits among `candidates` that a pair has.
uint32_t traits_of(const TraitArgs& args, const Pair& pair, uint32_t candidates) {
  const mluOpDataType_t dtype = args.operands.found.dtype;
  const auto [e, b, e_bits, b_bits] = pair;
  uint32_t traits = 0;
  const auto set = [&](Trait trait, bool holds) { traits |= holds ? trait : 0U; };
  set(kIsNaN, std::isnan(e) && !std::isnan(b));
  set(kOverflowed, std::isinf(e) && std::isfinite(b));
  set(kIsZero, e == 0 && b != 0 && std::isfinite(b));
  set(kIsFlushed, e == 0 && b != 0 && std::abs(b) < args.least_normal);
  set(kIsNegated, e == -b && e != 0);
  set(kIsOneUlp, pair.is_finite() && distance_of(key_of_bits(dtype, e_bits), key_of_bits(dtype, b_bits)) == 1);
  const double product = args.factor * b;
  set(kIsScaled, std::abs(e - product) <= args.relative * std::abs(product) + args.absolute);
  const bool has_more_bits = dtype == MLUOP_DTYPE_FLOAT || dtype == MLUOP_DTYPE_DOUBLE;
  if (has_more_bits && (candidates & kIsHalf) != 0) set(kIsHalf, is_rounded_to(MLUOP_DTYPE_HALF, pair));
  if (has_more_bits && (candidates & kIsBFloat16) != 0) {
    set(kIsBFloat16, is_rounded_to(MLUOP_DTYPE_BFLOAT16, pair));
  }
  return candidates & traits;
}

}  // namespace

TraitArgs::TraitArgs(const Operands& of, double factor_of_b)
    : operands(of),
      factor(factor_of_b),
      relative(roundings(of.found.dtype)),
      absolute(is_floating(of.found.dtype) ? 0 : 0.5),  // integers are rounded
      least_normal(least_normal_of(of.found.dtype)) {}

StepTraits traits_of_numbers(const TraitArgs& args, int64_t first, uint32_t candidates) {
  const int64_t count = std::min(kStep, args.operands.count - first);
  PairChunk step;
  step.read(args.operands, first, first, count);
  StepTraits result{0, candidates};
  for (int64_t i = 0; i < count; ++i) {
    const Pair pair = step[i];
    if (!is_wrong(args.operands, pair)) continue;
    result.wrong |= 1U << i;
    if (result.traits != 0) result.traits = traits_of(args, pair, result.traits);
  }
  return result;
}

}  // namespace mluop::compare
