#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/native/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/caches.h"
#include "core/simd.h"
#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/native/kernels.h"
#include "primitives/key_partition-inl.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::native {
namespace HWY_NAMESPACE {

// Adds the feature row of each point to its cell.
struct AddRows {
  explicit AddRows(const SumArgs& sum_args)
      : args(sum_args), lookahead(mluop::HWY_NAMESPACE::row_lookahead(args.call.row_bytes())) {}

  const float* row(int64_t point) const { return args.call.input_features + point * args.call.num_channels; }
  float* sum(int64_t cell) const { return args.call.output_features + cell * args.call.num_channels; }

  HWY_INLINE void prefetch(int64_t point, int64_t cell) const {
    prefetch_row<Use::kReadOnce>(row(point), args.call.row_bytes());
    prefetch_row<Use::kWrite>(sum(cell), args.call.row_bytes());
  }
  HWY_INLINE void visit(int64_t point, int64_t cell) const {
    if (args.initialized[cell] != 0) {
      voxel_pooling_forward::HWY_NAMESPACE::add_row<false>(sum(cell), row(point), args.call.num_channels);
    } else {
      voxel_pooling_forward::HWY_NAMESPACE::add_row<true>(sum(cell), row(point), args.call.num_channels);
      args.initialized[cell] = 1;
    }
  }

  const SumArgs& args;
  int64_t lookahead;
};

// Adds the channels [channels.begin, channels.end) of the feature row of each point to its cell, which holds sums.
struct AddChannels {
  AddChannels(const Args& call_args, Range channel_range)
      : call(call_args),
        channels(channel_range),
        bytes(channels.size() * int64_t{sizeof(float)}),
        lookahead(mluop::HWY_NAMESPACE::row_lookahead(bytes)) {}

  const float* row(int64_t point) const {
    return call.input_features + point * call.num_channels + channels.begin;
  }
  float* sum(int64_t cell) const { return call.output_features + cell * call.num_channels + channels.begin; }

  HWY_INLINE void prefetch(int64_t point, int64_t cell) const {
    prefetch_row<Use::kReadOnce>(row(point), bytes);
    prefetch_row<Use::kWrite>(sum(cell), bytes);
  }
  HWY_INLINE void visit(int64_t point, int64_t cell) const {
    voxel_pooling_forward::HWY_NAMESPACE::add_row<false>(sum(cell), row(point), channels.size());
  }

  const Args& call;
  Range channels;
  int64_t bytes;
  int64_t lookahead;
};

void clear_initialized(const SumArgs& args, Range ranks) {
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.partition.keys(args.partition.ranked_buckets[rank]);
    std::fill_n(args.initialized + cells.begin, cells.size(), 0);
  }
}

void zero_empty_cells(const SumArgs& args, Range ranks) {
  const int64_t channels = args.call.num_channels;
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.partition.keys(args.partition.ranked_buckets[rank]);
    for (int64_t cell = cells.begin; cell < cells.end; ++cell) {
      if (args.initialized[cell] == 0) std::fill_n(args.call.output_features + cell * channels, channels, 0.0F);
    }
  }
}

void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  const AddRows add_rows(args);
  // Buckets are summed in chunks whose sums stay in the LLC. Smaller chunks are slower: each scans all points
  // again and reads shorter runs of rows.
  const int64_t chunk_bytes = cache_sizes().llc / 4;
  const int64_t chunk = std::max<int64_t>(chunk_bytes / (args.call.row_bytes() << args.partition.shift), 1);
  for (int64_t rank = begin; rank < end; rank += chunk) {
    const Range ranks{rank, std::min(rank + chunk, end)};
    clear_initialized(args, ranks);
    mluop::HWY_NAMESPACE::visit_owned(args.points, ranks, add_rows, queue);
    zero_empty_cells(args, ranks);
  }
}

void sum_shared(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  const Range channels = channels_of_lines(begin, end, args.call.num_channels);
  VisitQueue queue(task.nram, args.tile_points);
  const AddChannels add_channels(args.call, channels);
  const Range ranks = args.partition.shared_ranks();
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.partition.keys(args.partition.ranked_buckets[rank]);
    for (int64_t cell = cells.begin; cell < cells.end; ++cell) {
      std::fill_n(add_channels.sum(cell), channels.size(), 0.0F);
    }
  }
  mluop::HWY_NAMESPACE::visit_owned(args.points, ranks, add_channels, queue);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::native {

HWY_EXPORT(sum);
HWY_EXPORT(sum_shared);

RangeKernel<SumArgs> sum_kernel() { return MLUOP_DISPATCH(sum); }
RangeKernel<SumArgs> sum_shared_kernel() { return MLUOP_DISPATCH(sum_shared); }

}  // namespace mluop::voxel_pooling_forward::native
#endif
