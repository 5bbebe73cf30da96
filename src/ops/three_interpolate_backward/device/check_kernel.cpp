#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/device/check_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/three_interpolate_backward/device/kernels.h"
#include "ops/three_interpolate_backward/device/tile.h"
#include "primitives/find_bad_index-inl.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::device {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::find_bad_index;

void check(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  const CheckTile tile(task.nram);
  for (int64_t first = begin; first < end; first += CheckTile::kIndices) {
    const int64_t count = std::min(CheckTile::kIndices, end - first);
    load(task, tile.indices, args.call.indices + first, count * int64_t{sizeof(int32_t)});
    ++task.statistics->tiles;
    const int64_t bad = find_bad_index(tile.indices, 0, count, args.call.M);
    if (bad == count) continue;
    args.first_bad_index.report(first + bad);
    return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward::device {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);

}  // namespace mluop::three_interpolate_backward::device
#endif
