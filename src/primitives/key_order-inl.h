// The vectorised steps of key_order.h. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_KEY_ORDER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_KEY_ORDER_INL_H
#undef MLUOP_PRIMITIVES_KEY_ORDER_INL_H
#else
#define MLUOP_PRIMITIVES_KEY_ORDER_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "primitives/key_order.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Finds the ranks of a block, whose keys are known.
inline void rank_block(const KeyOrder& order, const KeyedItems& items, int64_t block) {
  const hn::CappedTag<int32_t, KeyedItems::kBlockItems> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Range range = items.block_items(block);
  const auto no_rank = hn::Set(d, KeyedItems::kNoRank);
  // As unsigned numbers: kNoRank is the highest.
  auto lowest = hn::Set(du, INT32_MAX);
  auto highest = no_rank;
  int64_t i = range.begin;
  for (; i + lanes <= range.end; i += lanes) {
    const auto key = hn::LoadU(d, items.keys + i);
    const auto no_key = hn::Lt(key, hn::Zero(d));
    auto rank = no_rank;
    if (!hn::AllTrue(d, no_key)) {
      const auto tile = hn::IfThenZeroElse(no_key, hn::ShiftRightSame(key, order.shift));
      rank = hn::IfThenElse(no_key, no_rank, hn::GatherIndex(d, order.ranks, tile));
    }
    hn::StoreU(rank, d, items.ranks + i);
    lowest = hn::Min(lowest, hn::BitCast(du, rank));
    highest = hn::Max(highest, rank);
  }
  KeyedItems::Block found{static_cast<int32_t>(hn::GetLane(hn::MinOfLanes(du, lowest))),
                          hn::GetLane(hn::MaxOfLanes(d, highest))};
  for (; i < range.end; ++i) {
    const int32_t key = items.keys[i];
    items.ranks[i] = key == KeyedItems::kNoKey ? KeyedItems::kNoRank : order.ranks[key >> order.shift];
    if (key == KeyedItems::kNoKey) continue;
    found = {std::min(found.lowest, items.ranks[i]), std::max(found.highest, items.ranks[i])};
  }
  items.blocks[block] = found;
}

// Appends the items of a block whose tile has one of these ranks.
HWY_INLINE void list_block(const KeyedItems& items, int64_t block, Range ranks, OwnedList& list) {
  const hn::CappedTag<int32_t, KeyedItems::kBlockItems> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto begin = hn::Set(d, static_cast<int32_t>(ranks.begin));
  const auto end = hn::Set(d, static_cast<int32_t>(ranks.end));
  const Range range = items.block_items(block);
  int64_t item = range.begin;
  for (; item + lanes <= range.end; item += lanes) {
    const auto rank = hn::LoadU(d, items.ranks + item);
    const auto owned = hn::AndNot(hn::Lt(rank, begin), hn::Lt(rank, end));
    const auto count = static_cast<int64_t>(hn::CountTrue(d, owned));
    if (count == 0) continue;
    hn::StoreU(hn::Compress(hn::LoadU(d, items.keys + item), owned), d, list.keys + list.count);
    hn::StoreU(hn::Compress(hn::Iota(d, static_cast<int32_t>(item)), owned), d, list.items + list.count);
    list.count += count;
  }
  for (; item < range.end; ++item) {
    if (items.ranks[item] < ranks.begin || items.ranks[item] >= ranks.end) continue;
    list.keys[list.count] = items.keys[item];
    list.items[list.count++] = static_cast<int32_t>(item);
  }
}

// Visits the items listed but the last `left`, which stay listed.
template <class Visitor>
HWY_INLINE void visit_listed(const Visitor& visitor, int64_t left, OwnedList& list) {
  const int64_t count = list.count - left;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t next = i + visitor.ahead;
    if (next < list.count) visitor.prefetch(list.items[next], list.keys[next]);
    visitor.visit(list.items[i], list.keys[i]);
  }
  std::copy_n(list.items + count, left, list.items);
  std::copy_n(list.keys + count, left, list.keys);
  list.count = left;
}

// Calls visitor.visit(item, key) for the items of the tiles with these ranks, in the order of the items, and
// visitor.prefetch(item, key) for an item visitor.ahead visits before; 1 <= ahead <= kBlockItems.
template <class Visitor>
HWY_INLINE void visit_owned(const KeyedItems& items, Range ranks, const Visitor& visitor, OwnedList& list) {
  const int64_t blocks = KeyedItems::block_count(items.item_count);
  for (int64_t block = 0; block < blocks; ++block) {
    const KeyedItems::Block& found = items.blocks[block];
    if (found.lowest >= ranks.end || found.highest < ranks.begin) continue;
    if (list.count + KeyedItems::kBlockItems > list.capacity) visit_listed(visitor, visitor.ahead, list);
    list_block(items, block, ranks, list);
  }
  visit_listed(visitor, 0, list);
}

// How many rows of so many bytes to fetch ahead of their use. Measured on rows of 80 channels of voxel pooling,
// where fetching a row vector by vector, along with the additions, was slower than a row at once.
inline int64_t rows_ahead(int64_t row_bytes) {
  constexpr int64_t kBytes = 5 << 10;
  return std::clamp<int64_t>(kBytes / row_bytes, 1, KeyedItems::kBlockItems);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
