// Chooses the size of a tile to fit the NRAM of a task.
#pragma once

#include <cstdint>

#include "core/checks.h"
#include "team/context.h"

namespace mluop {

// The largest count from 1 to `max` whose tile fits NRAM; bytes(count) is the size of the tile and grows with the
// count. Throws Failure with ALLOC_FAILED if a tile of one does not fit.
template <class Bytes>
int64_t fit_tile(const Context& context, int64_t max, const Bytes& bytes) {
  // The usual case, at the cost of one measurement.
  if (bytes(max) <= context.nram_capacity) return max;
  const size_t min_bytes = bytes(int64_t{1});
  require(min_bytes <= context.nram_capacity, MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ",
          context.nram_capacity / 1024, ", expected room for the smallest tile: ", min_bytes, " bytes");
  int64_t fitting = 1;
  int64_t limit = max - 1;
  while (fitting < limit) {
    const int64_t middle = fitting + (limit - fitting + 1) / 2;
    if (bytes(middle) <= context.nram_capacity) {
      fitting = middle;
    } else {
      limit = middle - 1;
    }
  }
  return fitting;
}

}  // namespace mluop
