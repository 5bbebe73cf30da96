// The vectorised steps of key_order.h. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_KEY_ORDER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_KEY_ORDER_INL_H
#undef MLUOP_PRIMITIVES_KEY_ORDER_INL_H
#else
#define MLUOP_PRIMITIVES_KEY_ORDER_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "primitives/key_order.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The number of a key; kNoNumber for kNoKey.
template <class D>
HWY_INLINE hn::Vec<D> number_of(D d, const KeyOrder& order, hn::Vec<D> key) {
  const auto no_key = hn::Lt(key, hn::Zero(d));
  const auto tile = hn::IfThenZeroElse(no_key, hn::ShiftRightSame(key, order.shift));
  const auto rank = hn::GatherIndex(d, order.ranks, tile);
  const auto place = hn::And(key, hn::Set(d, (int32_t{1} << order.shift) - 1));
  const auto number = hn::Or(hn::ShiftLeftSame(rank, order.shift), place);
  return hn::IfThenElse(no_key, hn::Set(d, static_cast<int32_t>(NumberedItems::kNoNumber)), number);
}

// Numbers the items of a block: in place, where their keys are before.
inline void number_block(const KeyOrder& order, const NumberedItems& items, int64_t block) {
  const hn::CappedTag<int32_t, NumberedItems::kBlockItems> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t first = block * NumberedItems::kBlockItems;
  const int64_t count = std::min(NumberedItems::kBlockItems, items.item_count - first);
  uint32_t* numbers = items.numbers + first;
  const auto no_number = hn::Set(du, NumberedItems::kNoNumber);
  auto lowest = no_number;
  auto highest = hn::Zero(du);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto key = hn::BitCast(d, hn::LoadU(du, numbers + i));
    const auto number = hn::BitCast(du, number_of(d, order, key));
    hn::StoreU(number, du, numbers + i);
    lowest = hn::Min(lowest, number);
    highest = hn::Max(highest, hn::IfThenZeroElse(hn::Eq(number, no_number), number));
  }
  NumberedItems::Block range{hn::GetLane(hn::MinOfLanes(du, lowest)), hn::GetLane(hn::MaxOfLanes(du, highest))};
  for (const hn::CappedTag<int32_t, 1> one; i < count; ++i) {
    const auto key = hn::Set(one, static_cast<int32_t>(numbers[i]));
    numbers[i] = static_cast<uint32_t>(hn::GetLane(number_of(one, order, key)));
    if (numbers[i] == NumberedItems::kNoNumber) continue;
    range.lowest = std::min(range.lowest, numbers[i]);
    range.highest = std::max(range.highest, numbers[i]);
  }
  items.blocks[block] = range;
}

// Appends the items of a block whose number is in [begin, end).
HWY_INLINE void list_block(const NumberedItems& items, int64_t block, uint32_t begin, uint32_t end,
                           OwnedList& list) {
  const hn::CappedTag<uint32_t, NumberedItems::kBlockItems> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t first = block * NumberedItems::kBlockItems;
  const int64_t last = std::min(first + NumberedItems::kBlockItems, items.item_count);
  int64_t item = first;
  for (; item + lanes <= last; item += lanes) {
    const auto number = hn::LoadU(d, items.numbers + item);
    const auto owned = hn::Lt(hn::Sub(number, hn::Set(d, begin)), hn::Set(d, end - begin));
    const auto found = hn::Iota(di, static_cast<int32_t>(item));
    hn::StoreU(hn::Compress(number, owned), d, list.numbers + list.count);
    hn::StoreU(hn::Compress(found, hn::RebindMask(di, owned)), di, list.items + list.count);
    list.count += static_cast<int64_t>(hn::CountTrue(d, owned));
  }
  for (; item < last; ++item) {
    const uint32_t number = items.numbers[item];
    if (number - begin >= end - begin) continue;
    list.numbers[list.count] = number;
    list.items[list.count++] = static_cast<int32_t>(item);
  }
}

// Visits the items listed but the last `left`, which stay listed.
template <class Visitor>
HWY_INLINE void visit_listed(const KeyOrder& order, const Visitor& visitor, int64_t left, OwnedList& list) {
  const int64_t count = list.count - left;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t next = i + visitor.ahead;
    if (next < list.count) visitor.prefetch(list.items[next], order.key_of(list.numbers[next]));
    visitor.visit(list.items[i], order.key_of(list.numbers[i]));
  }
  std::copy_n(list.items + count, left, list.items);
  std::copy_n(list.numbers + count, left, list.numbers);
  list.count = left;
}

// Calls visitor.visit(item, key) for the items of the tiles with these ranks, in the order of the items, and
// visitor.prefetch(item, key) for an item visitor.ahead visits before; 1 <= ahead <= kBlockItems.
template <class Visitor>
HWY_INLINE void visit_owned(const KeyOrder& order, const NumberedItems& items, Range ranks, const Visitor& visitor,
                            OwnedList& list) {
  const auto begin = static_cast<uint32_t>(ranks.begin << order.shift);
  const auto end = static_cast<uint32_t>(ranks.end << order.shift);
  const int64_t blocks = NumberedItems::block_count(items.item_count);
  for (int64_t block = 0; block < blocks; ++block) {
    const NumberedItems::Block& range = items.blocks[block];
    if (range.lowest >= end || range.highest < begin) continue;
    if (list.count + NumberedItems::kBlockItems > list.capacity) {
      visit_listed(order, visitor, visitor.ahead, list);
    }
    list_block(items, block, begin, end, list);
  }
  visit_listed(order, visitor, 0, list);
}

// How many rows of so many bytes to fetch ahead of their use, and how much of each: what follows in a long row the
// hardware fetches by itself. Measured on rows of 80 channels of voxel pooling.
inline int64_t rows_ahead(int64_t row_bytes) {
  constexpr int64_t kBytes = 5 << 10;
  return std::clamp<int64_t>(kBytes / row_bytes, 1, NumberedItems::kBlockItems);
}
HWY_INLINE void prefetch_row(const float* row, int64_t row_bytes) {
  constexpr int64_t kMaxBytes = 1 << 10;
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < std::min(row_bytes, kMaxBytes); i += kLine) {
    hwy::Prefetch(reinterpret_cast<const char*>(row) + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
