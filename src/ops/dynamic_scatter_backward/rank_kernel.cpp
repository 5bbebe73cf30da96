#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/rank_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "ops/dynamic_scatter_backward/check-inl.h"
#include "ops/dynamic_scatter_backward/kernels.h"
#include "primitives/key_order-inl.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {

void rank(const RankArgs& args, int64_t begin, int64_t end, Task&) {
  bool skipped = false;
  for (int64_t block = begin; block < end; ++block) {
    const Range points = args.points.block_items(block);
    if (!check_points(args.call, points.begin, points.size(), args.first_bad)) return;
    const int32_t* keys = args.points.keys;
    if (!skipped && std::find(keys + points.begin, keys + points.end, KeyedItems::kNoKey) != keys + points.end) {
      skipped = true;
      atomic_min(args.first_skipped, static_cast<int32_t>(points.begin));
    }
    mluop::HWY_NAMESPACE::rank_block(args.order, args.points, block);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(rank);

RangeKernel<RankArgs> rank_kernel() { return HWY_DYNAMIC_DISPATCH(rank); }

}  // namespace mluop::dynamic_scatter_backward
#endif
