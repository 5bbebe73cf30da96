#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/kernels.h"
#include "primitives/key_order-inl.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

// Cells are summed in parts of about this size, which stay in a last level of cache. Smaller parts are slower:
// each looks at the points once more, and in shorter stretches.
constexpr int64_t kPartBytes = 8 << 20;

// Adds the row of each point to its cell.
struct AddRows {
  explicit AddRows(const SumArgs& sum_args)
      : args(sum_args), ahead(mluop::HWY_NAMESPACE::rows_ahead(args.call.row_bytes())) {}

  const float* row(int64_t point) const { return args.call.input_features + point * args.call.num_channels; }
  float* sum(int64_t cell) const { return args.call.output_features + cell * args.call.num_channels; }

  HWY_INLINE void prefetch(int64_t point, int64_t cell) const {
    prefetch_row<Use::kReadOnce>(row(point), args.call.row_bytes());
    prefetch_row<Use::kWrite>(sum(cell), args.call.row_bytes());
  }
  HWY_INLINE void visit(int64_t point, int64_t cell) const {
    if (args.begun[cell] != 0) {
      add_row<false>(sum(cell), row(point), args.call.num_channels);
    } else {
      add_row<true>(sum(cell), row(point), args.call.num_channels);
      args.begun[cell] = 1;
    }
  }

  const SumArgs& args;
  int64_t ahead;
};

// No cell has a sum yet.
void begin_cells(const SumArgs& args, Range ranks) {
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.order.keys(args.order.tiles[rank]);
    std::fill_n(args.begun + cells.begin, cells.size(), 0);
  }
}

// Zeroes the cells without points.
void zero_others(const SumArgs& args, Range ranks) {
  const int64_t channels = args.call.num_channels;
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.order.keys(args.order.tiles[rank]);
    for (int64_t cell = cells.begin; cell < cells.end; ++cell) {
      if (args.begun[cell] == 0) std::fill_n(args.call.output_features + cell * channels, channels, 0.0F);
    }
  }
}

void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  OwnedList list(task.nram, args.tile_points);
  const AddRows add_rows(args);
  const int64_t part_tiles = std::max<int64_t>(kPartBytes / (args.call.row_bytes() << args.order.shift), 1);
  for (int64_t part = begin; part < end; part += part_tiles) {
    const Range ranks{part, std::min(part + part_tiles, end)};
    begin_cells(args, ranks);
    mluop::HWY_NAMESPACE::visit_owned(args.points, ranks, add_rows, list);
    zero_others(args, ranks);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward {

HWY_EXPORT(sum);

RangeKernel<SumArgs> sum_kernel() { return HWY_DYNAMIC_DISPATCH(sum); }

}  // namespace mluop::voxel_pooling_forward
#endif
