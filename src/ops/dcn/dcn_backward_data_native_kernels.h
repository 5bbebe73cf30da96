// Deformable convolution backward data: the range kernels, in the order of their launches, and the buffers of a
// task in NRAM.
//
// A task owns a range of channels of an image, or of a band of its rows if there are too few ranges for the tasks.
// For one tile of output pixels at a time, it multiplies grad_output by the filters of the range, which gives the
// gradients of the interpolated channels, and adds these to the pixels of the band that the samples read, in the
// order of output pixels for any number of tasks. The contributions of the range to the gradients of offsets and
// mask are partial sums, which the last launch adds.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/dcn/dcn.h"
#include "ops/dcn/samples.h"
#include "primitives/gemm/matmul.h"
#include "team/launch.h"

namespace mluop::dcn::backward_data {

// Channels of one group and one deformable group at some offsets of the filter: column (k - first k) channels + c
// of their matrix is channel c at offset k.
struct Unit {
  int64_t columns() const { return (k_end - k) * channels; }

  int64_t group, d;
  int64_t channel, channels;
  int64_t k, k_end;
  int64_t packed;      // first lane of its packed filters
  bool is_first_of_d;  // earlier units of its range belong to other deformable groups or other offsets
};

// The division of the channels. It depends only on the sizes, so that the order of additions does not depend on
// the number of tasks.
struct Division {
  // The first range with channels of a deformable group, and the number of such ranges.
  int64_t first_range(const Sizes& sizes, int64_t d) const { return d * sizes.deformable_inputs() / width; }
  int64_t range_count(const Sizes& sizes, int64_t d) const {
    return ((d + 1) * sizes.deformable_inputs() - 1) / width + 1 - first_range(sizes, d);
  }

  int64_t width;  // channels of a range; the last may have fewer
  int64_t ranges;
  int64_t offsets;  // offsets of a unit
  int64_t unit_count;
  int64_t packed_count;   // elements of the packed filters
  int64_t partial_count;  // maximum number of ranges of a deformable group
};

// Calls visit(range, unit) for all units, ordered by range, offset and channel. The units of a range are
// contiguous.
template <class Visit>
void for_each_unit(const Sizes& sizes, const Division& division, const Visit& visit) {
  const int64_t inputs = sizes.group_inputs(), deformable_inputs = sizes.deformable_inputs();
  int64_t packed = 0;
  for (int64_t range = 0; range < division.ranges; ++range) {
    const int64_t end = std::min((range + 1) * division.width, sizes.Ci);
    for (int64_t k = 0; k < sizes.K(); k += division.offsets) {
      int64_t last_d = -1;
      for (int64_t channel = range * division.width; channel < end;) {
        const int64_t group = channel / inputs, d = channel / deformable_inputs;
        const int64_t next = std::min({end, (group + 1) * inputs, (d + 1) * deformable_inputs});
        const Unit unit{group,  d,          channel, next - channel, k, std::min(k + division.offsets, sizes.K()),
                        packed, d != last_d};
        visit(range, unit);
        packed += sizes.group_outputs() * round_up(unit.columns(), kMaxLanes);
        last_d = d;
        channel = next;
      }
    }
  }
}

// The memory that the handle keeps.
struct Units {
  Units(Arena& arena, const Division& counts)
      : division(counts),
        units(arena.take<Unit>("units", {counts.unit_count})),
        first_units(arena.take<int64_t>("first units", {counts.ranges + 1})) {}

  Division division;
  Unit* units;           // [unit_count]
  int64_t* first_units;  // [ranges + 1], first unit of each range
};

// Work items: units. Packs the filters of each unit: fp32 as [panels][outputs of the group][NR]; for AVX512-BF16
// bfloat16 as [panels][outputs / 2][NR][2], where an odd number of outputs is padded with zeros. The last panel is
// padded with zeros to whole vectors of columns.
struct PackArgs : BackwardDataArgs {
  const Units& units;
  float* packed_filters;  // lanes
};
RangeKernel<PackArgs> pack_kernel(mluOpDataType_t dtype);

// The sizes of a tile.
struct Tiling {
  // Number of tiles of an image.
  int64_t count(const Sizes& sizes) const { return ceil_div(sizes.image_pixels(), pixels); }

  int64_t pixels;   // output pixels of a tile
  int64_t outputs;  // channels of grad_output multiplied at once, an even number
  bool copies;      // rows of grad_output are converted, or padded to whole steps of the microkernel
};

// The rows of the input that the samples of a tile read: first > last if none.
struct RowSpan {
  int64_t first, last;
};

// The division of an image into bands of rows. A tile whose samples read rows of several bands is multiplied once
// for each of them; the first of these bands computes the tile's gradients of offsets and mask.
struct Bands {
  int64_t first_of(const RowSpan& span) const { return span.first > span.last ? 0 : span.first / rows; }
  int64_t last_of(const RowSpan& span) const { return span.first > span.last ? 0 : span.last / rows; }

  int64_t count;
  int64_t rows;          // rows of a band; the last may have fewer
  const RowSpan* spans;  // [N, tiles of an image]; null if count is 1
};

// Element: the type in which tensors are multiplied, float or BFloat16.
template <class Element>
struct Tile {
  Tile(Arena& nram, const Division& division, const Tiling& tiling)
      : stride(round_up(division.offsets * division.width, kMaxLanes)),
        samples(nram, tiling.pixels, division.offsets),
        columns(nram.take<float>("gradients of columns", {tiling.pixels, stride})),
        grads(nram.take<Element>("copied gradients", {tiling.copies ? tiling.pixels : 0, tiling.outputs})),
        rows(nram.take<int32_t>("row numbers", {tiling.pixels})) {}

  int64_t stride;
  SampleBuffers samples;  // samples of a unit
  float* columns;         // [pixels, stride], gradients of a unit
  Element* grads;         // [pixels, outputs]
  int32_t* rows;          // [pixels], 0, 1, 2, ...
};

// Work items: tiles of all images. Writes the spans.
struct FindRowsArgs : BackwardDataArgs {
  const Division& division;
  const Tiling& tiling;
  RowSpan* spans;
};
RangeKernel<FindRowsArgs> find_rows_kernel(mluOpDataType_t dtype);

// The gradients of an offset, before multiplication by the mask, and of a mask element.
struct SampleGradient {
  float y, x, mask;
};

// Work items: (image, range of channels, band). Writes grad_input and the partial sums.
struct ScatterArgs : BackwardDataArgs {
  const Units& units;
  const float* packed_filters;
  const Tiling& tiling;
  const Bands& bands;
  float* sums;               // [task_dim, rows of a band, W, width] if grad_input has 16 bits
  SampleGradient* partials;  // [partial_count, pixels, S]
};
RangeKernel<ScatterArgs> scatter_kernel(mluOpDataType_t dtype);

// Work items: output pixels. Adds the partial sums of each sample in the order of their ranges, and multiplies the
// gradient of its offset by the mask.
struct CombineArgs : BackwardDataArgs {
  const Division& division;
  const SampleGradient* partials;
};
RangeKernel<CombineArgs> combine_kernel(mluOpDataType_t dtype);

}  // namespace mluop::dcn::backward_data
