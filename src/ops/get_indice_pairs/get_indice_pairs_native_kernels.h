// Get indice pairs, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ops/get_indice_pairs/get_indice_pairs_native_cells.h"
#include "primitives/sort/radix_sort.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::get_indice_pairs::native {

// The pairs of a chunk of sites are first written as if all earlier chunks were full, then moved together.
inline constexpr int64_t kChunkSites = 2048;

inline int64_t chunk_count(const Args& args) { return ceil_div(args.site_count, kChunkSites); }

// Work items: sites. Reports the first site outside the input space, and whether the sites ascend strictly.
struct CheckArgs : Args {
  FirstBadItem& bad_site;
  std::atomic<bool>& unordered;
};
void check_sites(const CheckArgs& args, int64_t begin, int64_t end, Task& task);

// The order of sites that do not ascend. All steps up to the pairs process the sites in this order.
struct SiteOrder {
  // Number of tables: as many as fit into the keys of the sort.
  static constexpr int64_t kTables = 4;

  SiteOrder(Arena& arena, const Args& args)
      : sort(arena, args.site_count),
        rows(arena.take<uint32_t>("rows of cells", {args.sub_m ? args.site_count : 0})) {}

  RadixSortMemory<int64_t> sort;  // keys: cells of the input space; values: rows
  uint32_t* rows;                 // [L], submanifold: the first row of each active cell, by rank
};

// Work items: sites. Writes their cells of the input space.
struct NumberArgs : Args {
  int64_t* numbers;
};
void number_sites(const NumberArgs& args, int64_t begin, int64_t end, Task& task);

// Arguments shared by kernels over sites.
struct SiteArgs : Args {
  const uint32_t* order;  // order of the sites; null: by row, because they ascend or cannot be sorted
  const Cells& cells;
};

// Work items: sites. Enters the words of the active cells: direct, sets bits of `present`; hashed, claims slots.
struct ClaimArgs : SiteArgs {
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

// Hashed only: the words in the used slots, and the memory to sort them.
struct SortMemory {
  // Number of ranges of slots: fixed, so that the memory does not depend on the number of tasks.
  static constexpr int kRanges = 64;

  SortMemory(Arena& arena, int64_t max_words)
      : words(arena, max_words), first_places(arena.take<int64_t>("places of ranges", {kRanges})) {}

  RadixSortMemory<int64_t> words;  // values: slots
  int64_t* first_places;           // [kRanges], words of a range of slots; then words of all ranges before it
};

// Hashed only. Work items: ranges of slots. Counts the used slots; then, with the places of the ranges known,
// copies the words of the used slots, and the slots as their values.
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
  const uint32_t* slots;  // slots of the words
};
void place_words(const PlaceArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: sites. Sets the bits of the active cells.
RangeKernel<SiteArgs> mark_kernel();

// Work items: ranges of words. Counts their active cells; then, with their ranks known, writes the ranks of the
// words and, unless submanifold, the cells as rows of out_indices.
RangeKernel<CellArgs> count_cells_kernel();
RangeKernel<CellArgs> list_cells_kernel();

// Submanifold, repeated sites. Work items: sites. Writes the first row of each active cell.
struct RowArgs : SiteArgs {
  uint32_t* rows;
};
RangeKernel<RowArgs> row_kernel();

// The pairs of consecutive sites, in NRAM: written directly to the output, each pair would touch two pages.
struct PairTile {
  PairTile(Arena& nram, int64_t sites, int64_t offsets)
      : pairs(nram.take<int32_t>("pairs", {offsets, 2, sites})),
        counts(nram.take<int32_t>("pair counts", {offsets})) {}

  int32_t* pairs;   // [K, 2, sites]
  int32_t* counts;  // [K]
};

// Work items: chunks of sites. Writes the pairs of a chunk from its first site on, and the numbers of pairs.
// Inputs are positions in the order, outputs are ranks.
struct PairArgs : SiteArgs {
  // Number of offsets whose pairs are searched: if mirrored, only up to the middle offset, because offset K - 1 -
  // k has the pairs (o, i) of the pairs (i, o) of offset k.
  int64_t found_offsets() const { return mirrored ? offset_count() / 2 + 1 : offset_count(); }

  bool mirrored;
  int32_t* counts;  // [chunks, K]
  int64_t tile_sites;
};
RangeKernel<PairArgs> pair_kernel();

// Work items: rows of indice_pairs, two for each searched offset. Moves the pairs of the chunks together, copies
// them to the mirrored offset and writes indice_num.
void join_chunks(const PairArgs& args, int64_t begin, int64_t end, Task& task);

// Sorted sites. Work items: tables. Table t serves the offsets t, t + kTables, ...: replaces positions (if
// submanifold, also ranks) by rows, and sorts the pairs by input row.
struct ReorderArgs : Args {
  const uint32_t* order;
  const uint32_t* rows;
  std::array<int32_t*, SiteOrder::kTables> tables;  // [L] each
};
RangeKernel<ReorderArgs> reorder_kernel();

// Work items: elements of indice_pairs. Sets the elements past the last pair to -1.
struct PadArgs : Args {
  bool stream;  // the elements bypass the caches
};
RangeKernel<PadArgs> pad_kernel();

}  // namespace mluop::get_indice_pairs::native
