// Access to the set of active cells. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_GET_INDICE_PAIRS_CELLS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_GET_INDICE_PAIRS_CELLS_INL_H
#undef MLUOP_GET_INDICE_PAIRS_CELLS_INL_H
#else
#define MLUOP_GET_INDICE_PAIRS_CELLS_INL_H
#endif

#include <hwy/highway.h>

#include "ops/get_indice_pairs/get_indice_pairs_native_cells.h"
#include "ops/get_indice_pairs/hits.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {

HWY_INLINE uint64_t low_bits(int64_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

HWY_INLINE int32_t count_bits(uint64_t bits) { return __builtin_popcountll(bits); }

// The slot at which the search for a word starts.
HWY_INLINE int64_t home_slot(const Cells& cells, int64_t word) {
  // The finalizer of MurmurHash3.
  auto hash = static_cast<uint64_t>(word);
  hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCDU;
  hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53U;
  hash ^= hash >> 33;
  return static_cast<int64_t>((hash >> 32) * static_cast<uint64_t>(cells.sizes.slot_count) >> 32);
}

HWY_INLINE int64_t next_slot(const Cells& cells, int64_t slot) {
  return slot + 1 == cells.sizes.slot_count ? 0 : slot + 1;
}

// The position of a word; -1 if it has no active cells.
template <bool kHashed>
HWY_INLINE int64_t find_word(const Cells& cells, int64_t word) {
  if constexpr (kHashed) {
    for (int64_t slot = home_slot(cells, word);; slot = next_slot(cells, slot)) {
      if (cells.slots[slot] == word) return cells.slot_ranks[slot];
      if (cells.slots[slot] == kNoWord) return -1;
    }
  }
  const Group& group = cells.groups[word / kGroupWords];
  const int64_t in_group = word % kGroupWords;
  if ((group.present >> in_group & 1) == 0) return -1;
  return group.rank + count_bits(group.present & low_bits(in_group));
}

// The rank of an active cell of a word.
HWY_INLINE int64_t rank_in(const Word& word, int64_t in_word) {
  return word.rank + count_bits(word.bits & ((uint64_t{1} << in_word) - 1));
}

// The rank of an active cell.
template <bool kHashed>
HWY_INLINE int64_t rank_of(const Cells& cells, int64_t cell) {
  return rank_in(cells.words[find_word<kHashed>(cells, cell / kWordCells)], cell % kWordCells);
}

// Calls visit(k, last) for each line of cells that a site contributes to: the first offset of the filter, and the
// cell at coordinate w.o. Its offsets and cells are those of the hits w along the width.
template <class Visit>
HWY_INLINE void for_each_line(const Args& args, int32_t batch, const Hits& d, const Hits& h, const Hits& w,
                              const Visit& visit) {
  const Axis& depth = args.depth();
  const Axis& height = args.height();
  for (int64_t i = 0; i < d.n; ++i) {
    const int64_t plane = batch * depth.output_extent + d.o - i * depth.dilation;
    const int64_t first_k = (d.k + i * depth.stride) * height.kernel;
    for (int64_t j = 0; j < h.n; ++j) {
      const int64_t line = plane * height.output_extent + h.o - j * height.dilation;
      visit((first_k + h.k + j * height.stride) * args.width().kernel + w.k,
            line * args.width().output_extent + w.o);
    }
  }
}

// Calls visit(word, bits) for the words of the cells of a line: `count` cells, `last` and those before it at
// distances of `dilation`.
template <class Visit>
HWY_INLINE void for_each_word(int64_t last, int64_t count, int64_t dilation, const Visit& visit) {
  if (dilation > 1) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t cell = last - i * dilation;
      visit(cell / kWordCells, uint64_t{1} << cell % kWordCells);
    }
    return;
  }
  int64_t first = last - count + 1;
  while (count > 0) {
    const int64_t in_word = first % kWordCells;
    const int64_t part = HWY_MIN(count, kWordCells - in_word);
    visit(first / kWordCells, low_bits(part) << in_word);
    first += part;
    count -= part;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
