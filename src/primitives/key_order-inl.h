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

// The ranks of the tiles of keys; kNoRank for kNoKey.
constexpr int32_t kNoRank = -1;
template <class D>
HWY_INLINE hn::Vec<D> ranks_of(D d, const KeyOrder& order, hn::Vec<D> key) {
  const auto no_key = hn::Lt(key, hn::Zero(d));
  const auto tile = hn::IfThenZeroElse(no_key, hn::ShiftRightSame(key, order.shift));
  return hn::IfThenElse(no_key, hn::Set(d, kNoRank), hn::GatherIndex(d, order.ranks, tile));
}

// Notes which ranks occur in a block, whose keys are known.
inline void rank_block(const KeyOrder& order, const KeyedItems& items, int64_t block) {
  const hn::CappedTag<int32_t, KeyedItems::kBlockItems> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Range range = items.block_items(block);
  KeyedItems::Block ranks{INT32_MAX, kNoRank};
  auto lowest = hn::Set(du, INT32_MAX);
  auto highest = hn::Set(d, kNoRank);
  int64_t i = range.begin;
  for (; i + lanes <= range.end; i += lanes) {
    const auto key = hn::LoadU(d, items.keys + i);
    if (hn::AllTrue(d, hn::Lt(key, hn::Zero(d)))) continue;
    const auto rank = ranks_of(d, order, key);
    // As unsigned numbers: kNoRank is the highest.
    lowest = hn::Min(lowest, hn::BitCast(du, rank));
    highest = hn::Max(highest, rank);
  }
  if (i > range.begin) {
    ranks = {static_cast<int32_t>(hn::GetLane(hn::MinOfLanes(du, lowest))),
             hn::GetLane(hn::MaxOfLanes(d, highest))};
  }
  for (; i < range.end; ++i) {
    if (items.keys[i] == KeyedItems::kNoKey) continue;
    const int32_t rank = order.ranks[items.keys[i] >> order.shift];
    ranks = {std::min(ranks.lowest, rank), std::max(ranks.highest, rank)};
  }
  items.blocks[block] = ranks;
}

// Appends the items of a block whose tile has one of these ranks.
HWY_INLINE void list_block(const KeyOrder& order, const KeyedItems& items, int64_t block, Range ranks,
                           OwnedList& list) {
  const hn::CappedTag<int32_t, KeyedItems::kBlockItems> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const KeyedItems::Block& found = items.blocks[block];
  const bool all = ranks.begin <= found.lowest && found.highest < ranks.end;
  const Range range = items.block_items(block);
  int64_t item = range.begin;
  for (; item + lanes <= range.end; item += lanes) {
    const auto key = hn::LoadU(d, items.keys + item);
    auto owned = hn::Gt(key, hn::Set(d, KeyedItems::kNoKey));
    if (!all) {
      const auto rank = ranks_of(d, order, key);
      owned = hn::And(hn::Gt(rank, hn::Set(d, static_cast<int32_t>(ranks.begin) - 1)),
                      hn::Lt(rank, hn::Set(d, static_cast<int32_t>(ranks.end))));
    }
    hn::StoreU(hn::Compress(key, owned), d, list.keys + list.count);
    hn::StoreU(hn::Compress(hn::Iota(d, static_cast<int32_t>(item)), owned), d, list.items + list.count);
    list.count += static_cast<int64_t>(hn::CountTrue(d, owned));
  }
  for (; item < range.end; ++item) {
    const int32_t key = items.keys[item];
    if (key == KeyedItems::kNoKey) continue;
    const int32_t rank = order.ranks[key >> order.shift];
    if (rank < ranks.begin || rank >= ranks.end) continue;
    list.keys[list.count] = key;
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
HWY_INLINE void visit_owned(const KeyOrder& order, const KeyedItems& items, Range ranks, const Visitor& visitor,
                            OwnedList& list) {
  const int64_t blocks = KeyedItems::block_count(items.item_count);
  for (int64_t block = 0; block < blocks; ++block) {
    const KeyedItems::Block& found = items.blocks[block];
    if (found.lowest >= ranks.end || found.highest < ranks.begin) continue;
    if (list.count + KeyedItems::kBlockItems > list.capacity) visit_listed(visitor, visitor.ahead, list);
    list_block(order, items, block, ranks, list);
  }
  visit_listed(visitor, 0, list);
}

// How many rows of so many bytes to fetch ahead of their use. Measured on rows of 80 channels of voxel pooling.
inline int64_t rows_ahead(int64_t row_bytes) {
  constexpr int64_t kBytes = 5 << 10;
  return std::clamp<int64_t>(kBytes / row_bytes, 1, KeyedItems::kBlockItems);
}

// What is read once should not displace what is used again.
enum class Use { kReadOnce, kRead, kWrite };

// Fetches the row of an item; what follows in a long row the hardware fetches by itself. A row at once: fetching
// it vector by vector along with the additions is slower.
template <Use kUse>
HWY_INLINE void prefetch_row(const float* row, int64_t row_bytes) {
  constexpr int64_t kMaxBytes = 1 << 10;
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < std::min(row_bytes, kMaxBytes); i += kLine) {
    __builtin_prefetch(reinterpret_cast<const char*>(row) + i, kUse == Use::kWrite,
                       kUse == Use::kReadOnce ? 0 : 3);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
