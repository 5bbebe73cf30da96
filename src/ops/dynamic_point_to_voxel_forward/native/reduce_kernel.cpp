#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_point_to_voxel_forward/native/reduce_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_point_to_voxel_forward/native/kernels.h"
#include "ops/dynamic_point_to_voxel_forward/native/reducer-inl.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_point_to_voxel_forward::native {
namespace HWY_NAMESPACE {

// Prefetches the rows of sorted points, each once, as the places are passed.
class RowPrefetcher {
 public:
  RowPrefetcher(const ReduceArgs& args, Range places) : args_(args), next_(places.begin), end_(places.end) {
    advance(places.begin);
  }

  // Prefetches the rows of the places up to the lookahead from `place` on.
  HWY_INLINE void advance(int64_t place) {
    const int64_t bytes = args_.call.row_bytes();
    const int64_t lookahead = kLookaheadBytes / std::max<int64_t>(bytes, 1);
    const int64_t limit = std::min(place + std::max<int64_t>(lookahead, 1), end_);
    for (; next_ < limit; ++next_) prefetch_row<Use::kReadOnce>(args_.call.feats_row(args_.points[next_]), bytes);
  }

 private:
  static constexpr int64_t kLookaheadBytes = 5 << 10;

  const ReduceArgs& args_;
  int64_t next_, end_;
};

template <mluOpReduceMode_t kMode, bool kStream>
void reduce_voxels(const ReduceArgs& args, int64_t begin, int64_t end) {
  const Args& call = args.call;
  const Reducer<kMode, kStream> reducer(call, args.points);
  RowPrefetcher prefetcher(args, {args.starts[begin], args.starts[end]});
  for (int64_t voxel = begin; voxel < end; ++voxel) {
    const Range places{args.starts[voxel], args.starts[voxel + 1]};
    call.voxel_points_count[voxel] = static_cast<int32_t>(places.size());
    std::copy_n(call.coor(args.points[places.begin]), kAxes, call.voxel_coors + voxel * kAxes);
    if (args.shared != nullptr && args.shared->shares(places.size())) {
      args.shared->add(voxel);
      continue;
    }
    prefetcher.advance(places.end);
    reducer.reduce(places, {0, call.channels}, call.voxel_row(voxel));
  }
}

template <bool kStream>
void reduce_as(const ReduceArgs& args, int64_t begin, int64_t end) {
  switch (args.call.reduce_type) {
    case MLUOP_REDUCE_DSUM: return reduce_voxels<MLUOP_REDUCE_DSUM, kStream>(args, begin, end);
    case MLUOP_REDUCE_DMEAN: return reduce_voxels<MLUOP_REDUCE_DMEAN, kStream>(args, begin, end);
    case MLUOP_REDUCE_DMAX: return reduce_voxels<MLUOP_REDUCE_DMAX, kStream>(args, begin, end);
  }
}

void reduce(const ReduceArgs& args, int64_t begin, int64_t end, Task&) {
  args.stream ? reduce_as<true>(args, begin, end) : reduce_as<false>(args, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_point_to_voxel_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_point_to_voxel_forward::native {

MLUOP_EXPORT_KERNEL(reduce_kernel, reduce, ReduceArgs);

}  // namespace mluop::dynamic_point_to_voxel_forward::native
#endif
