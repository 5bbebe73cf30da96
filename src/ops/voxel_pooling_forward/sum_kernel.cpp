#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/kernels.h"
#include "primitives/key_order-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

// Cells are summed in parts of about this size, which stay in a last level of cache. Smaller parts are slower:
// each looks at the points once more, and in shorter stretches.
constexpr int64_t kPartBytes = 8 << 20;

// Adds the row of each point to its cell.
struct AddRows {
  explicit AddRows(const Args& args) : call(args), ahead(mluop::HWY_NAMESPACE::rows_ahead(args.row_bytes())) {}

  const float* row(int64_t point) const { return call.input_features + point * call.num_channels; }
  float* sum(int64_t cell) const { return call.output_features + cell * call.num_channels; }

  HWY_INLINE void visit(int64_t point, int64_t cell, int64_t next_point, int64_t next_cell) const {
    const float* next_row = row(next_point);
    const float* next_sum = sum(next_cell);
    add_row(sum(cell), row(point), call.num_channels, [=](int64_t channel) {
      hwy::Prefetch(next_row + channel);
      hwy::Prefetch(next_sum + channel);
    });
  }

  const Args& call;
  int64_t ahead;
};

void zero_tiles(const SumArgs& args, Range ranks) {
  const int64_t channels = args.call.num_channels;
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.order.keys(args.order.tiles[rank]);
    std::memset(args.call.output_features + cells.begin * channels, 0,
                static_cast<size_t>(cells.size() * channels) * sizeof(float));
  }
}

void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  OwnedList list(task.nram, args.tile_points);
  const AddRows add_rows(args.call);
  const int64_t part_tiles = std::max<int64_t>(kPartBytes / (args.call.row_bytes() << args.order.shift), 1);
  for (int64_t part = begin; part < end; part += part_tiles) {
    const Range ranks{part, std::min(part + part_tiles, end)};
    zero_tiles(args, ranks);
    mluop::HWY_NAMESPACE::visit_owned(args.order, args.points, ranks, add_rows, list);
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
