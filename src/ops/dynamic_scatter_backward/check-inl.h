// Dynamic scatter backward: the check of the map, vectorised. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_DYNAMIC_SCATTER_CHECK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_DYNAMIC_SCATTER_CHECK_INL_H
#undef MLUOP_DYNAMIC_SCATTER_CHECK_INL_H
#else
#define MLUOP_DYNAMIC_SCATTER_CHECK_INL_H
#endif

#include <hwy/highway.h>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether the voxels of the points [point, point + count) all exist, or are kNoKey. If not, lowers first_bad to
// the first that does not.
inline bool check_points(const Args& call, int64_t point, int64_t count, int32_t* first_bad) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int32_t* map = call.point2voxel_map + point;
  const auto below = hn::Set(d, KeyedItems::kNoKey - 1);
  const auto bound = hn::Set(d, call.voxel_count);
  auto good = hn::Eq(bound, bound);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto voxel = hn::LoadU(d, map + i);
    good = hn::And(good, hn::And(hn::Gt(voxel, below), hn::Lt(voxel, bound)));
  }
  const auto exists = [&](int64_t at) { return map[at] >= KeyedItems::kNoKey && map[at] < call.voxel_count; };
  bool all = hn::AllTrue(d, good);
  for (; i < count; ++i) all = all && exists(i);
  if (all) return true;
  i = 0;
  while (exists(i)) ++i;
  atomic_min(first_bad, static_cast<int32_t>(point + i));
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#endif  // include guard
