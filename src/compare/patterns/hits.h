// The indices of each dimension that have wrong elements, the number of wrong elements at borders, and the traits
// that all wrong elements share.
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

  // A bit for each index of a dimension; empty for dimensions that were not recorded.
  std::vector<std::vector<uint64_t>> bits;
  // Number of wrong elements for each set of dimensions (with at least 3 indices) in which their index is the
  // first or last.
  std::vector<int64_t> borders;
  uint32_t traits;  // shared by all wrong elements; see traits.h
  double factor;    // factor of kIsScaled
};

// The hits if all elements are wrong; without indices and borders.
Hits find_hits(const Problem& problem);

// "each is NaN", "each is 2 times what is expected"; "" if the wrong elements have nothing in common.
std::string common_trait(const Problem& problem, const Hits& hits);

}  // namespace mluop::compare
