#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/native/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/native/kernels.h"
#include "ops/voxel_pooling_forward/native/sum_rows-inl.h"
#include "primitives/channel_lines.h"
#include "primitives/key_partition-inl.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::native {
namespace HWY_NAMESPACE {
using voxel_pooling_forward::HWY_NAMESPACE::add_row;

// Adds channels of the feature row of each point to the sum of its cell. kShared: the sums are initialized; tasks
// that add other channels of these cells do not share the flags.
template <class T, bool kShared>
class AddRows {
 public:
  AddRows(const SumArgs& args, const SumRows<T>& sums, Range channels)
      : lookahead(mluop::HWY_NAMESPACE::row_lookahead(channels.size() * int64_t{sizeof(T)})),
        input_features_(static_cast<const T*>(args.call.input_features) + channels.begin),
        stride_(args.call.num_channels),
        channels_(channels.size()),
        sums_(sums),
        initialized_(args.initialized) {}

  HWY_INLINE void prefetch(int64_t point, int64_t cell) const {
    prefetch_row<Use::kReadOnce>(row(point), channels_ * int64_t{sizeof(T)});
    prefetch_row<Use::kWrite>(sums_.row(cell), channels_ * int64_t{sizeof(float)});
  }
  HWY_INLINE void visit(int64_t point, int64_t cell) const {
    if (kShared || initialized_[cell] != 0) {
      add_row<false>(sums_.row(cell), row(point), channels_);
    } else {
      add_row<true>(sums_.row(cell), row(point), channels_);
      initialized_[cell] = 1;
    }
  }

  const int64_t lookahead;

 private:
  const T* row(int64_t point) const { return input_features_ + point * stride_; }

  const T* input_features_;
  int64_t stride_, channels_;
  const SumRows<T>& sums_;
  uint8_t* initialized_;
};

// Calls visit(cell) for the cells of these ranks.
template <class Visit>
void for_each_cell(const SumArgs& args, Range ranks, const Visit& visit) {
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.partition.keys(args.partition.ranked_buckets[rank]);
    for (int64_t cell = cells.begin; cell < cells.end; ++cell) visit(cell);
  }
}

void clear_initialized(const SumArgs& args, Range ranks) {
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range cells = args.partition.keys(args.partition.ranked_buckets[rank]);
    std::fill_n(args.initialized + cells.begin, cells.size(), 0);
  }
}

// Computes these channels of the cells of these ranks: at most args.chunk of both.
template <class T>
void sum_chunk(const SumArgs& args, Range ranks, Range channels, VisitQueue& queue, const Task& task) {
  const SumRows<T> sums(args, ranks, channels, task);
  clear_initialized(args, ranks);
  mluop::HWY_NAMESPACE::visit_owned(args.points, args.points.chunks(), ranks,
                                    AddRows<T, false>(args, sums, channels), queue);
  T* const output = static_cast<T*>(args.call.output_features) + channels.begin;
  for_each_cell(args, ranks, [&](int64_t cell) {
    if (args.initialized[cell] != 0) {
      sums.finish(cell);
    } else {
      std::fill_n(output + cell * args.call.num_channels, channels.size(), T{});
    }
  });
}

template <class T>
void sum_shared_chunk(const SumArgs& args, Range ranks, Range channels, VisitQueue& queue, const Task& task) {
  const SumRows<T> sums(args, ranks, channels, task);
  for_each_cell(args, ranks, [&](int64_t cell) { std::fill_n(sums.row(cell), channels.size(), 0.0F); });
  mluop::HWY_NAMESPACE::visit_owned(args.points, args.points.chunks(), ranks,
                                    AddRows<T, true>(args, sums, channels), queue);
  for_each_cell(args, ranks, [&](int64_t cell) { sums.finish(cell); });
}

// Calls run(ranks, channels) for each chunk.
template <class Run>
void for_each_chunk(const SumArgs& args, Range ranks, Range channels, const Run& run) {
  for (int64_t c = channels.begin; c < channels.end; c += args.chunk.channels) {
    const Range chunk_channels{c, std::min(c + args.chunk.channels, channels.end)};
    for (int64_t rank = ranks.begin; rank < ranks.end; rank += args.chunk.ranks) {
      run(Range{rank, std::min(rank + args.chunk.ranks, ranks.end)}, chunk_channels);
    }
  }
}

template <class T>
void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  for_each_chunk(args, {begin, end}, {0, args.call.num_channels},
                 [&](Range ranks, Range channels) { sum_chunk<T>(args, ranks, channels, queue, task); });
}

template <class T>
void sum_shared(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  for_each_chunk(args, args.partition.shared_ranks(), channels_of_lines<T>(begin, end, args.call.num_channels),
                 [&](Range ranks, Range channels) { sum_shared_chunk<T>(args, ranks, channels, queue, task); });
}

MLUOP_SELECT_BY_DTYPE(sum, SumArgs);
MLUOP_SELECT_BY_DTYPE(sum_shared, SumArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(sum_kernel, sum, SumArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(sum_shared_kernel, sum_shared, SumArgs);

}  // namespace mluop::voxel_pooling_forward::native
#endif
