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
        begins(nram.take<int32_t>(items + kGroupTilePadding)),
        ends(nram.take<int32_t>(items + kGroupTilePadding)) {}

  int32_t* keys;    // [items], for the operator to fill
  int32_t* begins;  // [items], first item of each run, counted from the begin of the tile
  int32_t* ends;    // [items], the item behind each run
};

// Appends the items [begin, begin + count), whose keys are in `tile`, to the runs of the task.
inline void append(const Group& group, const GroupTile& tile, int64_t begin, int32_t count, int task_id) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<int32_t> d;
  static_assert(hn::MaxLanes(d) <= kGroupTilePadding);
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto no_group = hn::Set(d, group.no_group());
  // A run begins, and the one before ends, where a key differs from its predecessor. Nothing is around the tile.
  tile.keys[-1] = group.no_group();
  std::fill_n(tile.keys + count, lanes, group.no_group());
  int32_t begun = 0;
  int32_t ended = 0;
  for (int32_t i = 0; i <= count; i += lanes) {
    const auto key = hn::LoadU(d, tile.keys + i);
    const auto before = hn::LoadU(d, tile.keys + i - 1);
    const auto item = hn::Iota(d, i);
    const auto differs = hn::Ne(key, before);
    const auto begins = hn::And(differs, hn::Ne(key, no_group));
    const auto ends = hn::And(differs, hn::Ne(before, no_group));
    hn::StoreU(hn::Compress(item, begins), d, tile.begins + begun);
    hn::StoreU(hn::Compress(item, ends), d, tile.ends + ended);
    begun += static_cast<int32_t>(hn::CountTrue(d, begins));
    ended += static_cast<int32_t>(hn::CountTrue(d, ends));
  }
  int32_t& found = group.found_counts[task_id];
  Run* runs = group.found + group.items_of(task_id).begin + found;
  int32_t* counts = group.counts_of(task_id);
  for (int32_t run = 0; run < begun; ++run) {
    const int32_t first = tile.begins[run];
    const int32_t key = tile.keys[first];
    const int32_t items = tile.ends[run] - first;
    runs[run] = {static_cast<int32_t>(begin) + first, items, key};
    counts[key >> group.shift] += items;
  }
  found += begun;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
