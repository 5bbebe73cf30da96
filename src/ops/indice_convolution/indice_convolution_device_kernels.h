// Indice convolution forward, device algorithm: the range kernel that checks the indices. Primitives do the rest.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/indice_convolution/indice_convolution.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::indice_convolution::device {

// The buffers of a task in NRAM.
struct CheckTile {
  CheckTile(Arena& nram, int64_t max_pairs)
      : pairs(max_pairs),
        inputs(nram.take<int32_t>("inputs", {pairs})),
        outputs(nram.take<int32_t>("outputs", {pairs})) {}

  int64_t pairs;
  int32_t* inputs;   // [pairs]
  int32_t* outputs;  // [pairs]
};

// Work items: pairs. Reports the first pair with an index out of bounds; a pair with a negative index is skipped.
struct CheckArgs : Args {
  const int64_t* first_pairs;  // [K + 1], first pair of each offset
  FirstBadItem& first_bad;
  int32_t* lowest;  // receives the minimum of itself and of each task's negative indices
};
RangeKernel<CheckArgs> check_kernel();

}  // namespace mluop::indice_convolution::device
