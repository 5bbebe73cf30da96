// Reached sites and floor sites by their definitions: all sums or floors, sorted. The oracles of the tests and the
// baselines of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// Sites [N, 1 + D], multiples [D]. Results have capacity for all rows; the rest is set to 0. Both functions return
// the number of rows.
struct SiteList {
  int64_t N, D;
  const int32_t* sites;
  const int32_t* multiples;
};

// reached: [N K, 1 + D].
int32_t reached_sites(const SiteList& list, int64_t K, const int32_t* offsets, int32_t* reached);

// floors: [N, 1 + D], inverse: [N].
int32_t floor_sites(const SiteList& list, int32_t* floors, int32_t* inverse);

}  // namespace mluop::reference
