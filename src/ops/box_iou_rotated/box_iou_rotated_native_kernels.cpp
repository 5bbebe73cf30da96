#include "ops/box_iou_rotated/box_iou_rotated_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/box_iou_rotated/box_iou_rotated_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "core/simd.h"
#include "primitives/box_bounds-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::box_iou_rotated::native {
namespace HWY_NAMESPACE {

void compute_pairs(const PairArgs& args, int64_t begin, int64_t end, Task&) {
  constexpr int64_t kGroup = BoxBounds::kGroupBoxes;
  const BoxBounds& bounds = args.second.bounds;
  const int64_t groups = bounds.padded_count / kGroup;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t n = item / groups, first = item % groups * kGroup;
    float* const row = args.ious + n * args.M;
    std::fill(row + first, row + std::min(first + kGroup, args.M), 0.0F);
    uint64_t bits = mluop::HWY_NAMESPACE::boxes_that_meet(args.first.bounds[n], bounds, first);
    for (; bits != 0; bits &= bits - 1) {
      const int64_t m = first + std::countr_zero(bits);
      row[m] = overlap(args.mode, args.first.boxes[n], args.second.boxes[m]);
    }
  }
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
