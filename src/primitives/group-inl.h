// The vectorised step of group.h: finding runs. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_GROUP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_GROUP_INL_H
#undef MLUOP_PRIMITIVES_GROUP_INL_H
#else
#define MLUOP_PRIMITIVES_GROUP_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "primitives/group.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// The buffers of a tile of `items` items in NRAM.
struct GroupTile {
  GroupTile(Nram& nram, int32_t items)
      : keys(nram.take<int32_t>(items + 2 * kGroupTilePadding) + kGroupTilePadding),
        firsts(nram.take<int32_t>(items + kGroupTilePadding)) {}

  int32_t* keys;    // [items], for the operator to fill
  int32_t* firsts;  // [items], first item of each run, counted from the begin of the tile
};

// Appends the items [begin, begin + count), whose keys are in `tile`, to the runs of the task.
inline void append(const Group& group, const GroupTile& tile, int64_t begin, int32_t count, int task_id) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<int32_t> d;
  static_assert(hn::MaxLanes(d) <= kGroupTilePadding);
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  // A run starts where a key differs from the one before; nothing precedes the first, nothing new follows the
  // last.
  tile.keys[-1] = -1;
  std::fill_n(tile.keys + count, lanes, tile.keys[count - 1]);
  int32_t found = 0;
  for (int32_t i = 0; i < count; i += lanes) {
    const auto differs = hn::Ne(hn::LoadU(d, tile.keys + i), hn::LoadU(d, tile.keys + i - 1));
    hn::StoreU(hn::Compress(hn::Iota(d, i), differs), d, tile.firsts + found);
    found += static_cast<int32_t>(hn::CountTrue(d, differs));
  }
  const int64_t place = group.items_of(task_id).begin + group.run_counts[task_id];
  int32_t* run_keys = group.run_keys + place;
  int32_t* run_firsts = group.run_firsts + place;
  int32_t* counts = group.counts_of(task_id);
  tile.firsts[found] = count;
  for (int32_t run = 0; run < found; ++run) {
    const int32_t first = tile.firsts[run];
    const int32_t key = tile.keys[first];
    run_keys[run] = key;
    run_firsts[run] = static_cast<int32_t>(begin) + first;
    counts[key] += tile.firsts[run + 1] - first;
  }
  group.run_counts[task_id] += found;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
