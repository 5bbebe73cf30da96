#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxelization/native/locate_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/voxelization/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxelization::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using Di = hn::RebindToSigned<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Points whose cells are computed together.
constexpr int64_t kGroup = 64;

// The cells of a group of points.
struct Cells {
  alignas(64) float coordinates[3][kGroup];
  alignas(64) int32_t cells[3][kGroup];
  alignas(64) int32_t in_range[kGroup];  // all bits, or none
};

// Finds the cells of coordinates [0, count); those of the others are unspecified.
HWY_INLINE void locate_group(const std::array<Axis, 3>& axes, int64_t count, Cells& group) {
  const D d;
  const Di di;
  for (int64_t i = 0; i < count; i += kLanes) {
    auto in_range = hn::FirstN(d, static_cast<size_t>(kLanes));
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto offset = hn::Sub(hn::Load(d, group.coordinates[axis] + i), hn::Set(d, axes[axis].low));
      const auto cell = hn::Floor(hn::Div(offset, hn::Set(d, axes[axis].size)));
      const auto in_axis = hn::And(hn::Ge(cell, hn::Zero(d)), hn::Lt(cell, hn::Set(d, axes[axis].cells)));
      hn::Store(hn::ConvertTo(di, hn::IfThenElseZero(in_axis, cell)), di, group.cells[axis] + i);
      in_range = hn::And(in_range, in_axis);
    }
    hn::Store(hn::VecFromMask(di, hn::RebindMask(di, in_range)), di, group.in_range + i);
  }
}

void locate(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t buckets = args.sizes.buckets;
  const auto columns = static_cast<int64_t>(call.axes[0].cells), rows = static_cast<int64_t>(call.axes[1].cells);
  Cells group{};
  for (int64_t item = begin; item < end; ++item) {
    const Range points = args.sizes.chunk(item);
    int32_t* const counts = args.buffers.positions + item * buckets;
    std::fill_n(counts, buckets, 0);
    for (int64_t first = points.begin; first < points.end; first += kGroup) {
      const int64_t count = std::min(kGroup, points.end - first);
      for (int64_t i = 0; i < count; ++i) {
        const float* point = call.points + (first + i) * call.F;
        for (int64_t axis = 0; axis < 3; ++axis) group.coordinates[axis][i] = point[axis];
      }
      locate_group(call.axes, count, group);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t key = (group.cells[2][i] * rows + group.cells[1][i]) * columns + group.cells[0][i];
        const int64_t in_range = group.in_range[i];
        args.buffers.roles[first + i] = key | ~in_range;
        counts[bucket_of(hash_of(key), buckets)] -= group.in_range[i];
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxelization::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxelization::native {

HWY_EXPORT(locate);

Kernel locate_kernel() { return MLUOP_DISPATCH(locate); }

}  // namespace mluop::voxelization::native
#endif
