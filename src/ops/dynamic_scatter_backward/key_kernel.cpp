#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/key_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "ops/dynamic_scatter_backward/key-inl.h"
#include "primitives/key_order-inl.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {

// Whether one of keys[0, count) is kNoKey.
HWY_INLINE bool any_without(const int32_t* keys, int32_t count) {
  return std::find(keys, keys + count, NumberedItems::kNoKey) != keys + count;
}

void key(const KeyArgs& args, int64_t begin, int64_t end, Task&) {
  bool skipped = false;
  for (int64_t block = begin; block < end; ++block) {
    const int64_t point = block * NumberedItems::kBlockItems;
    const auto count = static_cast<int32_t>(std::min(NumberedItems::kBlockItems, args.points.item_count - point));
    auto* keys = reinterpret_cast<int32_t*>(args.points.numbers + point);
    if (!key_points(args.call, point, count, keys, args.first_bad)) return;
    if (!skipped && any_without(keys, count)) {
      skipped = true;
      atomic_min(args.first_skipped, static_cast<int32_t>(point));
    }
    mluop::HWY_NAMESPACE::number_block(args.order, args.points, block);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(key);

RangeKernel<KeyArgs> key_kernel() { return HWY_DYNAMIC_DISPATCH(key); }

}  // namespace mluop::dynamic_scatter_backward
#endif
