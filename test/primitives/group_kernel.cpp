#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/group_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "primitives/group-inl.h"
#include "primitives/group_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {

void append_keys(const AppendArgs& args, int64_t begin, int64_t end, Task& task) {
  const mluop::HWY_NAMESPACE::GroupTile tile(task.nram, args.tile_items);
  args.group.clear(task.taskId);
  for (int64_t item = begin; item < end; item += args.tile_items) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(args.tile_items, end - item));
    std::copy_n(args.keys + item, count, tile.keys);
    mluop::HWY_NAMESPACE::append(args.group, tile, item, count, task.taskId);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::test {

HWY_EXPORT(append_keys);

RangeKernel<AppendArgs> append_kernel() { return HWY_DYNAMIC_DISPATCH(append_keys); }

}  // namespace mluop::test
#endif
