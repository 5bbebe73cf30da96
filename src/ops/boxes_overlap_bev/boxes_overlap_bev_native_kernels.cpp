#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/boxes_overlap_bev/boxes_overlap_bev_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/boxes_overlap_bev/boxes_overlap_bev_native_kernels.h"
#include "primitives/geometry/box_bounds-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::boxes_overlap_bev::native {
namespace HWY_NAMESPACE {

void intersect(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const auto overlap = [](const BevBox& a, const BevBox& b) { return overlap_of(a, b); };
  mluop::HWY_NAMESPACE::write_overlaps(args.boxes.a, args.boxes.b, begin, end, overlap, args.overlaps);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::boxes_overlap_bev::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::boxes_overlap_bev::native {
namespace {

void prepare(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t a_groups = args.boxes.a.bounds.group_count();
  for (int64_t item = begin; item < end; ++item) {
    const bool is_a = item < a_groups;
    const BoxSet& set = is_a ? args.boxes.a : args.boxes.b;
    const float* const from = is_a ? args.boxes_a : args.boxes_b;
    const int64_t first = (is_a ? item : item - a_groups) * BoxBounds::kGroupBoxes;
    const int64_t last = std::min(first + BoxBounds::kGroupBoxes, set.bounds.count);
    for (int64_t i = first; i < last; ++i) {
      set.boxes[i] = make_bev_box(from + i * 7);
      set.bounds.set(i, bounds_of(set.boxes[i]));
    }
    if (last == set.bounds.count) set.bounds.pad();
  }
}

}  // namespace

RangeKernel<KernelArgs> prepare_kernel() { return prepare; }

MLUOP_EXPORT_KERNEL(intersect_kernel, intersect, KernelArgs);

}  // namespace mluop::boxes_overlap_bev::native
#endif
