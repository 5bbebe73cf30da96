// Indice convolution: the range kernels. The convolution is output-stationary: a
// tile of features_out stays in NRAM until the products of all its pairs are added.
#pragma once

#include <cstdint>

#include "ops/indice_convolution/args.h"
#include "ops/indice_convolution/native/pairs_by_output_tile.h"
#include "ops/indice_convolution/native/tile.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::indice_convolution::native {

// Work items: panels of all offsets, in the order of offsets. Packs the filters as fp32 [K][panels][Ci][NR]; the
// last panel of an offset has as many columns as whole vectors need, and is padded with zeros.
struct PackArgs {
  const Args& call;
  float* packed_filters;
};
RangeKernel<PackArgs> pack_kernel(mluOpDataType_t dtype);

// Work items: pairs. Counts the pairs of each tile, except those with a negative index, and caches their runs.
// Also runs for pairs that are not sorted, to check them. Reports the first pair with an index out of bounds; the
// counts are then incomplete.
struct CountArgs {
  const Args& call;
  PairsByOutputTile& pairs;
  FirstBadItem& first_bad;
};
RangeKernel<CountArgs> count_kernel();

// Work items: pairs, divided as for count_kernel(). Writes sorted_runs.
struct SortArgs {
  const Args& call;
  PairsByOutputTile& pairs;
};
RangeKernel<SortArgs> sort_kernel();

// Work items: tiles of the output, by channels, then by rows. Adds the products of the pairs of a tile, in their
// order, and writes the sums to features_out.
struct ConvolveArgs {
  const Args& call;
  const PairsByOutputTile& pairs;
  const float* packed_filters;
  const Tiling& tiling;
};
RangeKernel<ConvolveArgs> convolve_kernel(mluOpDataType_t dtype);

}  // namespace mluop::indice_convolution::native
