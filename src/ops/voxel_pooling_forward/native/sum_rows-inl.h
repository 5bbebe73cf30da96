// Voxel pooling forward: where the sums of a chunk are, and how they reach output_features. Per-target code of
// Highway: include it inside foreach_target.
#if defined(MLUOP_VOXEL_POOLING_SUM_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_VOXEL_POOLING_SUM_ROWS_INL_H
#undef MLUOP_VOXEL_POOLING_SUM_ROWS_INL_H
#else
#define MLUOP_VOXEL_POOLING_SUM_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "ops/voxel_pooling_forward/native/kernels.h"
#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::native {
namespace HWY_NAMESPACE {

// The fp32 sums of some channels of the cells of consecutive ranks. T: the element type of the features.
template <class T>
class SumRows;

// In output_features.
template <>
class SumRows<float> {
 public:
  SumRows(const SumArgs& args, Range, Range channels, const Task&)
      : output_(static_cast<float*>(args.call.output_features) + channels.begin),
        stride_(args.call.num_channels) {}

  HWY_INLINE float* row(int64_t cell) const { return output_ + cell * stride_; }
  // output_features = row(cell)
  HWY_INLINE void finish(int64_t) const {}

 private:
  float* output_;
  int64_t stride_;
};

// In the memory of the task.
template <>
class SumRows<Half> {
 public:
  SumRows(const SumArgs& args, Range ranks, Range channels, const Task& task)
      : args_(args), sums_(args.sums_of(task.taskId)), first_rank_(ranks.begin), channels_(channels) {}

  HWY_INLINE float* row(int64_t cell) const {
    const KeyPartition& partition = args_.partition;
    const int64_t first_cell = (partition.ranks[cell >> partition.shift] - first_rank_) << partition.shift;
    const int64_t in_bucket = cell & ((int64_t{1} << partition.shift) - 1);
    return sums_ + (first_cell + in_bucket) * channels_.size();
  }
  // output_features = row(cell), rounded
  HWY_INLINE void finish(int64_t cell) const {
    Half* const output =
        static_cast<Half*>(args_.call.output_features) + cell * args_.call.num_channels + channels_.begin;
    mluop::HWY_NAMESPACE::round_to_half(row(cell), output, channels_.size());
  }

 private:
  const SumArgs& args_;
  float* sums_;
  int64_t first_rank_;
  Range channels_;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
