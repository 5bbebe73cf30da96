// Dynamic scatter backward: checks the values of the map. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_DYNAMIC_SCATTER_BACKWARD_COUNT_VALID_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_DYNAMIC_SCATTER_BACKWARD_COUNT_VALID_INL_H
#undef MLUOP_DYNAMIC_SCATTER_BACKWARD_COUNT_VALID_INL_H
#else
#define MLUOP_DYNAMIC_SCATTER_BACKWARD_COUNT_VALID_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "ops/dynamic_scatter_backward/dynamic_scatter_backward.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The number of values before the first value that is neither in [0, V) nor kNoVoxel; `count` if all are valid.
inline int64_t count_valid(const int32_t* HWY_RESTRICT map, int64_t count, int32_t voxel_count) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto below = hn::Set(d, kNoVoxel - 1);
  const auto bound = hn::Set(d, voxel_count);
  auto valid = hn::Eq(bound, bound);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto voxel = hn::LoadU(d, map + i);
    valid = hn::And(valid, hn::And(hn::Gt(voxel, below), hn::Lt(voxel, bound)));
  }
  int64_t first = hn::AllTrue(d, valid) ? i : 0;
  while (first < count && map[first] >= kNoVoxel && map[first] < voxel_count) ++first;
  return first;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#endif  // include guard
