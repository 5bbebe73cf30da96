// Get indice pairs, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <atomic>
#include <cstdint>

#include "ops/get_indice_pairs/get_indice_pairs_native_cells.h"
#include "primitives/radix_sort.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::get_indice_pairs::native {

// The pairs of a chunk of sites are first written as if the chunks before it were full, then moved together.
inline constexpr int64_t kChunkSites = 2048;

inline int64_t chunk_count(const Args& args) { return ceil_div(args.site_count, kChunkSites); }

// Work items: sites. Reports the first site outside the input space; submanifold: also whether the sites do not
// ascend strictly.
struct CheckArgs : Args {
  FirstBadItem& bad_site;
  std::atomic<bool>& unordered;
};
void check_sites(const CheckArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: elements of an array. Sets them to a value.
struct FillArgs {
  int32_t* data;
  int32_t value;
};
RangeKernel<FillArgs> fill_kernel();

// Work items: sites. Enters the words of the active cells: direct, sets bits of `present`; hashed, claims slots.
struct ClaimArgs : Args {
  const Cells& cells;
  std::atomic<int64_t>& claimed_words;  // hashed only; more than max_words if the slots do not suffice
};
RangeKernel<ClaimArgs> claim_kernel();

struct CellArgs : Args {
  const Cells& cells;
};

// Direct only. Work items: ranges of groups. Counts their words; then, with their ranks known, writes the words in
// ascending order and the ranks of the groups, and clears the bits of the words.
RangeKernel<CellArgs> count_words_kernel();
RangeKernel<CellArgs> list_words_kernel();

// Hashed only: the words in the slots in use, and the memory of their sort.
struct SortMemory {
  // Ranges of slots: fixed, so that the memory does not depend on the number of tasks.
  static constexpr int kRanges = 64;

  SortMemory(Arena& arena, int64_t max_words)
      : words(arena, max_words), first_places(arena.take<int64_t>("places of ranges", {kRanges})) {}

  RadixSortMemory<int64_t> words;  // values: slots
  int64_t* first_places;           // [kRanges], words of a range of slots; then those of the ranges before
};

// Hashed only. Work items: ranges of slots. Counts those in use; then, with the places of the ranges known, copies
// the words of those in use, and the slots as their values.
struct SlotArgs {
  Range slots(int64_t range) const {
    return split(cells.sizes.slot_count, SortMemory::kRanges, static_cast<int>(range));
  }

  const Cells& cells;
  const SortMemory& sort;
};
void count_slots(const SlotArgs& args, int64_t begin, int64_t end, Task& task);
void collect_words(const SlotArgs& args, int64_t begin, int64_t end, Task& task);

// Hashed only. Work items: words, sorted. Writes the positions of the words to their slots, and clears their bits.
struct PlaceArgs {
  const Cells& cells;
  const uint32_t* slots;  // of the words
};
void place_words(const PlaceArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: sites. Sets the bits of the active cells.
RangeKernel<CellArgs> mark_kernel();

// Work items: ranges of words. Counts their active cells; then, with their ranks known, writes the ranks of the
// words and, unless submanifold, the cells as rows of out_indices.
RangeKernel<CellArgs> count_cells_kernel();
RangeKernel<CellArgs> list_cells_kernel();

// Submanifold. Work items: sites. Writes the first row of each active cell to `rows` by rank; unless the sites are
// distinct, `rows` holds INT32_MAX before.
struct RowArgs : Args {
  const Cells& cells;
  bool distinct;
  int32_t* rows;  // [L]
};
RangeKernel<RowArgs> row_kernel();

// The pairs of consecutive sites, in NRAM: written to the output directly, each pair would touch two pages.
struct PairTile {
  PairTile(Arena& nram, int64_t sites, int64_t offsets)
      : pairs(nram.take<int32_t>("pairs", {offsets, 2, sites})),
        counts(nram.take<int32_t>("pair counts", {offsets})) {}

  int32_t* pairs;   // [K, 2, sites]
  int32_t* counts;  // [K]
};

// Work items: chunks of sites. Writes their pairs from the first site of the chunk on, and the numbers of pairs.
struct PairArgs : Args {
  const Cells& cells;
  const int32_t* rows;  // submanifold: rows of ranks; null: ranks are rows
  int32_t* counts;      // [chunks, K]
  int64_t tile_sites;
};
RangeKernel<PairArgs> pair_kernel();

// Work items: rows of indice_pairs, two for each offset. Moves the pairs of the chunks together and writes
// indice_num.
void join_chunks(const PairArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: elements of indice_pairs. Sets those past the last pair to -1.
struct PadArgs : Args {
  bool stream;  // they bypass the caches
};
RangeKernel<PadArgs> pad_kernel();

}  // namespace mluop::get_indice_pairs::native
