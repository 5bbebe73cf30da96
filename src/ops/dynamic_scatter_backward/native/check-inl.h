// Dynamic scatter backward: checks the values of the map. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_DYNAMIC_SCATTER_CHECK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_DYNAMIC_SCATTER_CHECK_INL_H
#undef MLUOP_DYNAMIC_SCATTER_CHECK_INL_H
#else
#define MLUOP_DYNAMIC_SCATTER_CHECK_INL_H
#endif

#include <hwy/highway.h>

#include "ops/dynamic_scatter_backward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether the map has a voxel in [0, V) or kNoKey for each of these points; reports the first point that breaks
// the rule.
inline bool check_points(const Args& call, Range points, FirstBadItem& bad) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int32_t* map = call.point2voxel_map;
  const auto below = hn::Set(d, KeyedPoints::kNoKey - 1);
  const auto bound = hn::Set(d, call.voxel_count);
  auto valid = hn::Eq(bound, bound);
  int64_t i = points.begin;
  for (; i + lanes <= points.end; i += lanes) {
    const auto voxel = hn::LoadU(d, map + i);
    valid = hn::And(valid, hn::And(hn::Gt(voxel, below), hn::Lt(voxel, bound)));
  }
  const auto is_valid = [&](int64_t point) {
    return map[point] >= KeyedPoints::kNoKey && map[point] < call.voxel_count;
  };
  bool all = hn::AllTrue(d, valid);
  for (; i < points.end; ++i) all = all && is_valid(i);
  if (all) return true;
  int64_t first = points.begin;
  while (is_valid(first)) ++first;
  bad.report(first);
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
