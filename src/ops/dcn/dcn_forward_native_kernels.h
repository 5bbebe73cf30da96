// Deformable convolution forward: the range kernels, in the order of their launches, and the buffers of a task in
// NRAM. The convolution is output-stationary: some channels of a tile of output pixels stay in NRAM until all
// products are added.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/dcn/columns.h"
#include "ops/dcn/dcn.h"
#include "ops/dcn/samples.h"
#include "primitives/gemm/matmul.h"
#include "team/launch.h"

namespace mluop::dcn::forward {

// Work items: panels of all groups, in the order of groups. Packs the filters of a group: fp32 as
// [panels][columns][NR]; for AVX512-BF16 bfloat16 as [panels][columns / 2][NR][2], where an odd number of columns
// is padded with zeros. The last panel is padded with zeros to whole vectors of filters.
struct PackArgs : ForwardArgs {
  void* packed_filters;  // [groups, padded_outputs(), group_columns() in whole steps]
};
RangeKernel<PackArgs> pack_kernel(mluOpDataType_t dtype);

// The filters of a group, rounded up to whole vectors.
inline int64_t padded_outputs(const Sizes& sizes) { return round_up(sizes.group_outputs(), kMaxLanes); }

// The sizes of a tile.
struct Tiling {
  int64_t pixels;   // output pixels of a tile
  int64_t outputs;  // channels of a group: whole panels, or all of them
  int64_t batch;    // pixels whose columns are multiplied at once
  int64_t columns;  // columns multiplied at once, a multiple of kMaxLanes
};

// T: the element type of the tensors; Element: the type in which they are multiplied, float or BFloat16.
template <class T, class Element>
struct Tile {
  Tile(Arena& nram, const Sizes& sizes, const Tiling& tiling)
      : samples(nram, tiling.pixels, sizes.S()),
        sums(nram.take<float>("sums", {tiling.pixels, tiling.outputs})),
        columns(nram.take<Element>("columns", {tiling.batch, tiling.columns})),
        pieces(nram.take<Piece>("pieces", {tiling.columns})),
        zeros(nram.take<T>("zeros", {tiling.columns})),
        rows(nram.take<int32_t>("row numbers", {tiling.batch})) {}

  SampleBuffers samples;
  float* sums;       // [pixels, outputs]
  Element* columns;  // [batch, columns]
  Piece* pieces;     // [columns]
  T* zeros;          // [columns]
  int32_t* rows;     // [batch], 0, 1, 2, ...
};

// Work items: tiles of output pixels.
struct ConvolveArgs : ForwardArgs {
  const void* packed_filters;
  const Tiling& tiling;
};
RangeKernel<ConvolveArgs> convolve_kernel(mluOpDataType_t dtype);

}  // namespace mluop::dcn::forward
