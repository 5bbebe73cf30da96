// Traits of wrong elements; the search for a pattern intersects them.
#pragma once

#include <cstdint>

#include "compare/patterns/problem.h"

namespace mluop::compare {

// Traits that may hold for every wrong element, the most specific first.
enum Trait : uint32_t {
  kIsNaN = 1,         // e is NaN, b is not
  kOverflowed = 2,    // e is infinite, b finite
  kIsFlushed = 4,     // e is 0, b a number that is subnormal in the type of e
  kIsZero = 8,        // e is 0, b is not
  kIsNegated = 16,    // e = -b
  kIsOneUlp = 32,     // e and b are neighbors in the type of e
  kIsHalf = 64,       // e is one of the halves next to b
  kIsBFloat16 = 128,  // the same for bfloat16
  kIsScaled = 256,    // e is `factor` times b, up to a few roundings
  kAllTraits = 511
};

struct TraitArgs {
  TraitArgs(const Operands& of, double factor_of_b);

  const Operands& operands;
  double factor;
  // Bounds of the errors of products with the factor.
  double relative, absolute;
  // The smallest positive normal number of the type of e.
  double least_normal;
};

// The traits of a step of elements, which may be shorter at the end.
struct StepTraits {
  uint32_t wrong;   // a bit for each element
  uint32_t traits;  // candidates that all wrong elements have
};

// Computes the traits of the step that begins with element `first`.
using StepFunction = StepTraits (*)(const TraitArgs& args, int64_t first, uint32_t candidates);

// Any data types.
StepTraits traits_of_numbers(const TraitArgs& args, int64_t first, uint32_t candidates);

// Both tensors have data type `dtype`: HALF, BFLOAT16 or FLOAT.
StepFunction traits_of_vectors(mluOpDataType_t dtype);

}  // namespace mluop::compare
