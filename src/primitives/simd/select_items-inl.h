// The items of a range that have a property. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_SELECT_ITEMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_SELECT_ITEMS_INL_H
#undef MLUOP_PRIMITIVES_SELECT_ITEMS_INL_H
#else
#define MLUOP_PRIMITIVES_SELECT_ITEMS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Writes the selected items of [begin, end), in ascending order, and returns their number. is_selected(d, i): the
// mask of the items from i on, with d a tag of int32_t. `to` has room for all items, because whole vectors are
// stored.
template <size_t kLanes = 16, class IsSelected>
HWY_INLINE int64_t select_items(int64_t begin, int64_t end, const IsSelected& is_selected, int32_t* to) {
  const hn::CappedTag<int32_t, kLanes> d;
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t selected = 0, i = begin;
  for (; i + lanes <= end; i += lanes) {
    const auto mask = is_selected(d, i);
    hn::StoreU(hn::Compress(hn::Iota(d, static_cast<int32_t>(i)), mask), d, to + selected);
    selected += static_cast<int64_t>(hn::CountTrue(d, mask));
  }
  if constexpr (lanes > 1) {
    if (i < end) selected += select_items<lanes / 2>(i, end, is_selected, to + selected);
  }
  return selected;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
