// Which indices of each dimension have wrong elements, how many of these lie at borders, and what all of them have
// in common.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "compare/patterns/problem.h"

namespace mluop::compare {

struct Hits {
  // Calls visit(index) for the indices of a dimension that have wrong elements.
  template <class Visit>
  void for_each(size_t dim, const Visit& visit) const {
    for (size_t word = 0; word < bits[dim].size(); ++word) {
      for (uint64_t rest = bits[dim][word]; rest != 0; rest &= rest - 1) {
        visit(static_cast<int64_t>(word) * 64 + std::countr_zero(rest));
      }
    }
  }

  // A bit for each index of a dimension. Dimensions without bits: unknown.
  std::vector<std::vector<uint64_t>> bits;
  // The wrong elements by the set of dimensions, of 3 and more indices, whose first or last index they have.
  std::vector<int64_t> borders;
  uint32_t traits;  // of all wrong elements; see traits.h
  double factor;    // that of kIsScaled
};

// If all are wrong, without indices and borders.
Hits find_hits(const Problem& problem);

// "each is NaN", "each is 2 times what is expected"; "" if the wrong elements have nothing in common.
std::string common_trait(const Problem& problem, const Hits& hits);

}  // namespace mluop::compare
