#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/native/rank_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/check-inl.h"
#include "ops/dynamic_scatter_backward/native/kernels.h"
#include "primitives/key_partition-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {

void rank(const RankArgs& args, int64_t begin, int64_t end, Task&) {
  const int32_t* keys = args.points.keys;
  bool skipped = false;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range points = args.points.chunk_points(chunk);
    const int64_t valid = dynamic_scatter_backward::HWY_NAMESPACE::count_valid(keys + points.begin, points.size(),
                                                                               args.call.voxel_count);
    if (valid < points.size()) {
      args.bad_point.report(points.begin + valid);
      return;
    }
    skipped =
        skipped || std::find(keys + points.begin, keys + points.end, KeyedPoints::kNoKey) != keys + points.end;
    mluop::HWY_NAMESPACE::rank_chunk(args.partition, args.points, chunk);
  }
  if (skipped) args.any_skipped.store(true, std::memory_order_relaxed);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::native {

MLUOP_EXPORT_KERNEL(rank_kernel, rank, RankArgs);

}  // namespace mluop::dynamic_scatter_backward::native
#endif
