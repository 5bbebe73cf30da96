#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.h"
#include "primitives/channel_lines.h"
#include "primitives/elements-inl.h"
#include "primitives/key_partition-inl.h"
#include "primitives/prefetch.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::native {
namespace HWY_NAMESPACE {
using voxel_pooling_forward::HWY_NAMESPACE::add_row;
using voxel_pooling_forward::HWY_NAMESPACE::locate_points;

// Runs are too far apart for the hardware prefetcher.
constexpr int64_t kPrefetchRuns = 16;

void sample(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  int32_t cells[SampledRuns::kRunPoints], memo[3 * SampledRuns::kRunPoints];
  args.partition.clear_sample(task.taskId);
  for (int64_t run = begin; run < end; ++run) {
    hwy::Prefetch(args.geom_xyz + args.sample.points(run + kPrefetchRuns).begin * 3);
    const Range points = args.sample.points(run);
    locate_points(args, points.begin, points.size(), args.geom_xyz + points.begin * 3, cells, memo);
    for (int64_t i = 0; i < points.size(); ++i) {
      if (cells[i] != kNoCell) args.partition.count(task.taskId, cells[i], run);
    }
  }
}

void locate(const LocateArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kChunkPoints = KeyedPoints::kChunkPoints;
  const LocateTile tile(task.nram, args.tile_points);
  const mluop::HWY_NAMESPACE::StreamWriter stream;
  const int64_t points_end = std::min(end * kChunkPoints, args.total_points());
  for (int64_t point = begin * kChunkPoints; point < points_end; point += args.tile_points) {
    const int64_t count = std::min(args.tile_points, points_end - point);
    int32_t* memo = args.pos_memo + point * 3;
    locate_points(args, point, count, args.geom_xyz + point * 3, args.cells + point,
                  args.stream ? tile.memo : memo);
    if (args.stream) stream.copy(memo, tile.memo, static_cast<size_t>(count) * 3);
    for (int64_t i = point; i < point + count; i += kChunkPoints) {
      mluop::HWY_NAMESPACE::rank_chunk(args.partition, args.points, i / kChunkPoints);
    }
  }
}

// The fp32 sums of a pass, of the cells of these ranks. T: the element type of the features.
template <class T>
class Sums;

// In output_features.
template <>
class Sums<float> {
 public:
  Sums(const SumArgs& args, Range, Range channels, const Task&)
      : output_(static_cast<float*>(args.output_features) + channels.begin), stride_(args.num_channels) {}

  HWY_INLINE float* row(int64_t cell) const { return output_ + cell * stride_; }
  // output_features = row(cell)
  HWY_INLINE void finish(int64_t) const {}

 private:
  float* output_;
  int64_t stride_;
};

// In the scratch memory of the task.
template <Element16 T>
class Sums<T> {
 public:
  Sums(const SumArgs& args, Range ranks, Range channels, const Task& task)
      : args_(args), sums_(args.sums_of(task.taskId)), first_rank_(ranks.begin), channels_(channels) {}

  HWY_INLINE float* row(int64_t cell) const {
    const KeyPartition& partition = args_.partition;
    const int64_t first_cell = (partition.ranks[cell >> partition.shift] - first_rank_) << partition.shift;
    const int64_t in_bucket = cell & ((int64_t{1} << partition.shift) - 1);
    return sums_ + (first_cell + in_bucket) * channels_.size();
  }
  // output_features = row(cell), rounded
  HWY_INLINE void finish(int64_t cell) const {
    T* const output = static_cast<T*>(args_.output_features) + cell * args_.num_channels + channels_.begin;
    mluop::HWY_NAMESPACE::round_row(row(cell), channels_.size(), output);
  }

 private:
  const SumArgs& args_;
  float* sums_;
  int64_t first_rank_;
  Range channels_;
};

// Adds channels of the feature row of each point to the sum of its cell. kShared: the sums are initialized; tasks
// that add other channels of these cells do not share the flags.
template <class T, bool kShared>
class AddRows {
 public:
  AddRows(const SumArgs& args, const Sums<T>& sums, Range channels)
      : lookahead(mluop::HWY_NAMESPACE::row_lookahead(channels.size() * int64_t{sizeof(T)})),
        input_features_(static_cast<const T*>(args.input_features) + channels.begin),
        stride_(args.num_channels),
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
  const Sums<T>& sums_;
  uint8_t* initialized_;
};

// Calls visit(cells) for the cells of each bucket of these ranks.
template <class Visit>
void for_each_bucket(const SumArgs& args, Range ranks, const Visit& visit) {
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    visit(args.partition.keys(args.partition.ranked_buckets[rank]));
  }
}

// Sums all channels of the cells of the ranks [begin, end); with kShared, the channels of the lines [begin, end)
// of the cells of the shared ranks. In passes.
template <class T, bool kShared>
void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  const Range all_ranks = kShared ? args.partition.shared_ranks() : Range{begin, end};
  const Range all_channels =
      kShared ? channels_of_lines<T>(begin, end, args.num_channels) : Range{0, args.num_channels};
  T* const output = static_cast<T*>(args.output_features);
  VisitQueue queue(task.nram, args.tile_points);
  for (int64_t c = all_channels.begin; c < all_channels.end; c += args.pass.channels) {
    const Range channels{c, std::min(c + args.pass.channels, all_channels.end)};
    for (int64_t rank = all_ranks.begin; rank < all_ranks.end; rank += args.pass.ranks) {
      const Range ranks{rank, std::min(rank + args.pass.ranks, all_ranks.end)};
      const Sums<T> sums(args, ranks, channels, task);
      for_each_bucket(args, ranks, [&](Range cells) {
        if constexpr (kShared) {
          for (int64_t cell = cells.begin; cell < cells.end; ++cell) {
            std::fill_n(sums.row(cell), channels.size(), 0.0F);
          }
        } else {
          std::fill_n(args.initialized + cells.begin, cells.size(), 0);
        }
      });
      mluop::HWY_NAMESPACE::visit_owned(args.points, args.points.chunks(), ranks,
                                        AddRows<T, kShared>(args, sums, channels), queue);
      for_each_bucket(args, ranks, [&](Range cells) {
        for (int64_t cell = cells.begin; cell < cells.end; ++cell) {
          if (kShared || args.initialized[cell] != 0) {
            sums.finish(cell);
          } else {
            std::fill_n(output + cell * args.num_channels + channels.begin, channels.size(), T{});
          }
        }
      });
    }
  }
}

template <class T>
constexpr RangeKernel<SumArgs> sum_owned = sum<T, false>;
template <class T>
constexpr RangeKernel<SumArgs> sum_shared = sum<T, true>;

MLUOP_SELECT_BY_DTYPE(sum_owned, SumArgs);
MLUOP_SELECT_BY_DTYPE(sum_shared, SumArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::native {

MLUOP_EXPORT_KERNEL(sample_kernel, sample, SampleArgs);
MLUOP_EXPORT_KERNEL(locate_kernel, locate, LocateArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(sum_kernel, sum_owned, SumArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(sum_shared_kernel, sum_shared, SumArgs);

}  // namespace mluop::voxel_pooling_forward::native
#endif
