// Indices of the three neighbors of points.
#pragma once

#include <cstdint>

#include "core/boundary.h"
#include "core/text.h"
#include "team/atomics.h"

namespace mluop {

// Throws Failure (BAD_PARAM) if `first_bad` holds the position of an index of indices [B, N, 3] outside [0, M);
// names it as [batch, point, slot].
inline void check_neighbor_indices(const int32_t* indices, int64_t N, int64_t M, const FirstBadItem& first_bad) {
  if (!first_bad.found()) return;
  const int64_t i = first_bad.item();
  throw Failure(MLUOP_STATUS_BAD_PARAM, text("indices[", i / 3 / N, ", ", i / 3 % N, ", ", i % 3, "] is ",
                                             indices[i], ", expected 0 to ", M - 1));
}

}  // namespace mluop
