// Cuts a tile to the scratch memory of a task.
#pragma once

#include <cstdint>

#include "core/boundary.h"
#include "core/text.h"
#include "team/context.h"

namespace mluop {

// The largest tile, from 1 to `most` items, whose buffers fit NRAM; bytes(items) says what they take, and grows
// with the items. Throws Failure with ALLOC_FAILED if not even one item fits.
template <class Bytes>
int32_t fit_tile(const Context& context, int64_t most, const Bytes& bytes) {
  int32_t low = 0;
  auto high = static_cast<int32_t>(most);
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (bytes(middle) <= context.nram_capacity) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low == 0) {
    throw Failure(MLUOP_STATUS_ALLOC_FAILED, text("MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
                                                  ", expected room for the smallest tile: ", bytes(1), " bytes"));
  }
  return low;
}

}  // namespace mluop
