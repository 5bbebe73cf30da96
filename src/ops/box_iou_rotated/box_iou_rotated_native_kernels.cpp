#include "ops/box_iou_rotated/box_iou_rotated_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/box_iou_rotated/box_iou_rotated_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "primitives/geometry/box_bounds-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::box_iou_rotated::native {
namespace HWY_NAMESPACE {

void compute_pairs(const PairArgs& args, int64_t begin, int64_t end, Task&) {
  const auto overlap_of = [&](const RotatedBox& a, const RotatedBox& b) { return overlap(args.mode, a, b); };
  mluop::HWY_NAMESPACE::write_overlaps(args.first, args.second, begin, end, overlap_of, args.ious);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::box_iou_rotated::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::box_iou_rotated::native {

void prepare(const PrepareArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    args.to.boxes[i] = RotatedBox(args.from + i * 5);
    args.to.bounds.set(i, args.to.boxes[i].bounds());
  }
  if (end == args.to.bounds.count) args.to.bounds.pad();
}

void compute_aligned(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t n = begin; n < end; ++n) {
    args.ious[n] = overlap(args.mode, RotatedBox(args.bbox1 + n * 5), RotatedBox(args.bbox2 + n * 5));
  }
}

MLUOP_EXPORT_KERNEL(pairs_kernel, compute_pairs, PairArgs);

}  // namespace mluop::box_iou_rotated::native
#endif
