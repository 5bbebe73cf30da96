// Which indices of each dimension have wrong elements, how many of these lie at borders, and what all of them have
// in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/patterns/problem.h"

namespace mluop::compare {

// What may hold for every wrong element, the most specific first.
enum Trait : uint32_t {
  kIsNaN = 1,         // e is NaN, b is not
  kOverflowed = 2,    // e is infinite, b finite
  kIsFlushed = 4,     // e is 0, b a number that is subnormal in the type of e
  kIsZero = 8,        // e is 0, b is not
  kIsNegated = 16,    // e = -b
  kIsOneUlp = 32,     // e and b are neighbors in the type of e
  kIsHalf = 64,       // e is one of the halves next to b
  kIsBFloat16 = 128,  // the same for bfloat16
  kAllTraits = 255
};

struct Hits {
  // Whether an index of a dimension has wrong elements. Dimensions without bits: unknown.
  bool is_hit(size_t dim, int64_t index) const {
    return (bits[dim][static_cast<size_t>(index / 64)] >> (index % 64) & 1) != 0;
  }

  std::vector<std::vector<uint64_t>> bits;  // of each dimension
  // The wrong elements by the set of dimensions, of 3 and more indices, whose first or last index they have.
  std::vector<int64_t> borders;
  uint32_t traits;  // of all wrong elements
};

// If all are wrong, without indices and borders.
Hits find_hits(const Problem& problem);

// "each is NaN"; "" if the wrong elements have nothing in common.
std::string common_trait(const Problem& problem, const Hits& hits);

}  // namespace mluop::compare
