// Indice convolution forward, device algorithm: the range kernel that checks the indices. All else is done by
// primitives.
#pragma once

#include <cstdint>

#include "ops/indice_convolution/args.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::indice_convolution::device {

// Work items: pairs. Reports the first pair with an index out of bounds; a pair with a negative index is skipped.
struct CheckArgs {
  const Args& call;
  const int64_t* first_pairs;  // [K + 1], the number of the first pair of an offset
  FirstBadItem& first_bad;
  int32_t* lowest;  // receives the minimum of itself and each task's indices, negative ones at least
};
RangeKernel<CheckArgs> check_kernel();

}  // namespace mluop::indice_convolution::device
