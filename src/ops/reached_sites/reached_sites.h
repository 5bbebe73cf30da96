// Reached sites: the algorithm and its arguments.
#pragma once

#include <algorithm>
#include <cstdint>

#include "team/operator_call.h"

namespace mluop::reached_sites {

// N sites of D axes, K offsets.
struct Sizes {
  int64_t sums() const { return N * K; }
  bool is_empty() const { return N == 0 || K == 0; }

  int64_t N, K, D;
};

// The arguments of the call, checked but for the sums. There are sites and offsets.
struct Args : Sizes {
  const int32_t* sites;      // [N, 1 + D]
  const int32_t* offsets;    // [K, D]
  const int32_t* multiples;  // [D]
  int32_t* reached;          // [N K, 1 + D]
  int32_t* num;
};

namespace native {

// The bytes of the workspace; 0 if sizes.is_empty().
size_t workspace_bytes(const Sizes& sizes);

// Computes the outputs. Throws before it writes them: Failure with BAD_PARAM if a sum exceeds int32, and
// std::bad_alloc.
void run(Call& call, Arena arena, const Args& args);

}  // namespace native
}  // namespace mluop::reached_sites
