// Dynamic scatter backward: from the map to checked keys, vectorised. Per-target code of Highway: include it
// inside foreach_target.
#if defined(MLUOP_DYNAMIC_SCATTER_KEY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_DYNAMIC_SCATTER_KEY_INL_H
#undef MLUOP_DYNAMIC_SCATTER_KEY_INL_H
#else
#define MLUOP_DYNAMIC_SCATTER_KEY_INL_H
#endif

#include <hwy/highway.h>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// keys[0, count) = the voxels of the points [point, point + count), kNoKey for a point without voxel. Returns
// whether all exist; if not, lowers first_bad to the first that does not.
inline bool key_points(const Args& call, int64_t point, int32_t count, int32_t* HWY_RESTRICT keys,
                       int32_t* first_bad) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  const int32_t* HWY_RESTRICT map = call.point2voxel_map + point;
  const auto skipped = hn::Set(d, NumberedItems::kNoKey);
  const auto bound = hn::Set(d, call.voxel_count);
  auto all_exist = hn::Eq(bound, bound);
  int32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto voxel = hn::LoadU(d, map + i);
    const auto exists = hn::And(hn::Gt(voxel, skipped), hn::Lt(voxel, bound));
    all_exist = hn::And(all_exist, hn::Or(exists, hn::Eq(voxel, skipped)));
    hn::StoreU(hn::IfThenElse(exists, voxel, skipped), d, keys + i);
  }
  bool good = hn::AllTrue(d, all_exist);
  for (; i < count; ++i) {
    keys[i] = map[i];
    good = good && map[i] >= -1 && map[i] < call.voxel_count;
  }
  if (good) return true;
  i = 0;
  while (map[i] >= -1 && map[i] < call.voxel_count) ++i;
  atomic_min(first_bad, static_cast<int32_t>(point) + i);
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#endif  // include guard
