// Access to the set of active cells. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_GET_INDICE_PAIRS_CELLS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_GET_INDICE_PAIRS_CELLS_INL_H
#undef MLUOP_GET_INDICE_PAIRS_CELLS_INL_H
#else
#define MLUOP_GET_INDICE_PAIRS_CELLS_INL_H
#endif

#include <hwy/highway.h>

#include "ops/get_indice_pairs/get_indice_pairs_native_cells.h"
#include "ops/get_indice_pairs/runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {

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

// The position of the first stored word of a group from `in_group` on, if any.
HWY_INLINE int64_t position_in(const Group& group, int64_t in_group) {
  return group.rank + count_bits(group.present & (bit_at(in_group) - 1));
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
  return (group.present >> in_group & 1) != 0 ? position_in(group, in_group) : -1;
}

// The active cells among 64 cells, and the rank of the first active cell, if any.
struct Window {
  uint64_t bits;
  int64_t first_rank;
};

// The 64 cells from `cell` on; `cell` is in the space.
template <bool kHashed>
HWY_INLINE Window find_window(const Cells& cells, int64_t cell) {
  const int64_t number = cell / kWordCells, in_word = cell % kWordCells;
  uint64_t bits, next_bits;
  int64_t rank;
  if constexpr (kHashed) {
    const int64_t position = find_word<true>(cells, number);
    const int64_t next_position = in_word > 0 ? find_word<true>(cells, number + 1) : -1;
    const Word none{0, 0};
    const Word& word = position >= 0 ? cells.words[position] : none;
    const Word& next = next_position >= 0 ? cells.words[next_position] : none;
    bits = word.bits;
    next_bits = next.bits;
    rank = position >= 0 ? word.rank : next.rank;
  } else {
    // Branch-free: the bits of words that are not stored are masked.
    const Group& group = cells.groups[number / kGroupWords];
    const Group& next_group = cells.groups[(number + 1) / kGroupWords];
    const uint64_t stored = group.present >> number % kGroupWords & 1;
    const uint64_t next_stored = next_group.present >> (number + 1) % kGroupWords & 1;
    const Word* const word = cells.words + position_in(group, number % kGroupWords);
    bits = word->bits & (0 - stored);
    next_bits = word[stored].bits & (0 - next_stored);
    rank = word->rank;
  }
  // Shifted in two steps: a shift by 64 is undefined.
  return {bits >> in_word | next_bits << 1 << (kWordCells - 1 - in_word),
          rank + count_bits(bits & (bit_at(in_word) - 1))};
}

// The lines of cells to which the sites of a run contribute.
class RunLines {
 public:
  explicit RunLines(const Args& args)
      : args_(args), depth_(args.depth()), height_(args.height()), width_(args.width()) {}

  // The hits of the current step.
  const WidthHits& width() const { return width_; }

  // Calls visit(k, count, cell) for each step along the width and each line, with the offsets [k, k + count) and
  // the cell of bit 0 of width().
  template <class Visit>
  HWY_INLINE void for_each(const Run& run, const Visit& visit) {
    const Axis& depth = args_.depth();
    const Axis& height = args_.height();
    const Hits d = depth_.hits(run.first.d), h = height_.hits(run.first.h);
    if (d.n * h.n == 0) return;
    width_.for_each_step(run, [&](int64_t step, int64_t count) HWY_ATTR {
      for (int64_t i = 0; i < d.n; ++i) {
        const int64_t plane = run.first.b * depth.output_extent + d.o - i * depth.dilation;
        const int64_t first_k = (d.k + i * depth.stride) * height.kernel;
        for (int64_t j = 0; j < h.n; ++j) {
          const int64_t line = plane * height.output_extent + h.o - j * height.dilation;
          visit((first_k + h.k + j * height.stride) * args_.width().kernel + step, count,
                line * args_.width().output_extent + width_.first_cell());
        }
      }
    });
  }

 private:
  const Args& args_;
  HitFinder depth_, height_;
  WidthHits width_;
};

// Bit i stands for cell + i. Calls visit(word, bits) for the one or two words of these cells.
template <class Visit>
HWY_INLINE void for_each_word(int64_t cell, uint64_t bits, const Visit& visit) {
  const int64_t word = cell / kWordCells, in_word = cell % kWordCells;
  const uint64_t low = bits << in_word, high = bits >> 1 >> (kWordCells - 1 - in_word);
  if (low != 0) visit(word, low);
  if (high != 0) visit(word + 1, high);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
