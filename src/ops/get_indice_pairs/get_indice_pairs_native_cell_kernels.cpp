#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/get_indice_pairs/get_indice_pairs_native_cell_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/get_indice_pairs/cells-inl.h"
#include "ops/get_indice_pairs/get_indice_pairs_native_kernels.h"

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

void check_sites(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const auto inside = [&](const Site& site) {
    return 0 <= site.b && site.b < args.batch_size && 0 <= site.d && site.d < args.depth().input_extent &&
           0 <= site.h && site.h < args.height().input_extent && 0 <= site.w && site.w < args.width().input_extent;
  };
  bool ascending = true;
  Site before{-1, 0, 0, 0};
  if (begin > 0) before = args.site(begin - 1);
  for (int64_t l = begin; l < end; ++l) {
    const Site site = args.site(l);
    if (!inside(site)) {
      args.bad_site.report(l);
      return;
    }
    ascending = ascending && before < site;
    before = site;
  }
  if (!ascending) args.unordered.store(true, std::memory_order_relaxed);
}

void number_sites(const NumberArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t l = begin; l < end; ++l) args.numbers[l] = args.input_cell(args.site(l));
}

}  // namespace mluop::get_indice_pairs::native
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {

// Calls visit(word, bits) for the cells that sites activate: their own cells if submanifold, otherwise the cells
// to which they contribute.
class ActiveCells {
 public:
  explicit ActiveCells(const Args& args) : args_(args), lines_(args) {}

  template <class Visit>
  HWY_INLINE void visit(const Run& run, const Visit& visit) {
    if (args_.sub_m) {
      for_each_word(args_.cell(run.first), run.sites, visit);
      return;
    }
    lines_.for_each(
        run, [&](int64_t, int64_t, int64_t cell) HWY_ATTR { for_each_word(cell, lines_.width().cells(), visit); });
  }

 private:
  const Args& args_;
  RunLines lines_;
};

// Collects the bits that consecutive sites set in a word, because an atomic update costs as much as many sites.
// Calls write(word, bits) at least once for each bit.
template <class Write>
class Collector {
 public:
  explicit Collector(const Write& write) : write_(write) { std::fill_n(words_, kEntries, kNoWord); }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector() {
    for (int64_t entry = 0; entry < kEntries; ++entry) evict(entry);
  }

  HWY_INLINE void add(int64_t word, uint64_t bits) {
    const int64_t entry = word % kEntries;
    if (words_[entry] != word) {
      evict(entry);
      words_[entry] = word;
      bits_[entry] = 0;
    }
    bits_[entry] |= bits;
  }

 private:
  // Adjacent lines of a 3 x 3 x 3 filter seldom compete for an entry.
  static constexpr int64_t kEntries = 256;

  HWY_INLINE void evict(int64_t entry) {
    if (words_[entry] != kNoWord) write_(words_[entry], bits_[entry]);
  }

  const Write& write_;
  int64_t words_[kEntries];
  uint64_t bits_[kEntries];
};

// Claims slots of the hash table.
class SlotClaimer {
 public:
  explicit SlotClaimer(const ClaimArgs& args) : args_(args), cells_(args.cells) {}
  SlotClaimer(const SlotClaimer&) = delete;
  SlotClaimer& operator=(const SlotClaimer&) = delete;
  ~SlotClaimer() { report(); }

  // Whether the slots suffice, according to the reports of the tasks so far.
  bool has_room() {
    constexpr int64_t kReportedWords = 64;
    if (claimed_ >= kReportedWords) report();
    return args_.claimed_words.load(std::memory_order_relaxed) <= cells_.sizes.max_words;
  }

  void insert(int64_t word) {
    int64_t slot = home_slot(cells_, word);
    for (int64_t probes = 0; probes < cells_.sizes.slot_count; ++probes, slot = next_slot(cells_, slot)) {
      const int64_t held = atomic_claim(&cells_.slots[slot], kNoWord, word);
      if (held == kNoWord) ++claimed_;
      if (held == kNoWord || held == word) return;
    }
    // No slot is left.
    claimed_ += cells_.sizes.max_words + 1;
  }

 private:
  void report() {
    if (claimed_ > 0) args_.claimed_words.fetch_add(claimed_, std::memory_order_relaxed);
    claimed_ = 0;
  }

  const ClaimArgs& args_;
  const Cells& cells_;
  int64_t claimed_ = 0;  // slots claimed since the last report
};

void claim(const ClaimArgs& args, int64_t begin, int64_t end, Task&) {
  ActiveCells active(args);
  Runs runs(args, args.order, begin, end);
  Run run;
  if (args.cells.sizes.hashed) {
    SlotClaimer claimer(args);
    while (claimer.has_room() && runs.next(run)) {
      active.visit(run, [&](int64_t word, uint64_t) HWY_ATTR { claimer.insert(word); });
    }
    return;
  }
  // Sets the bits of groups; each group stands for a word.
  const auto write = [&](int64_t group, uint64_t words)
                         HWY_ATTR { atomic_or(&args.cells.groups[group].present, words); };
  Collector collector(write);
  while (runs.next(run)) {
    active.visit(run, [&](int64_t word, uint64_t)
                          HWY_ATTR { collector.add(word / kGroupWords, bit_at(word % kGroupWords)); });
  }
}

void count_words(const CellArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  const Ranges& groups = cells.sizes.groups;
  for (int64_t range = begin; range < end; ++range) {
    const int64_t groups_end = groups.end(range, cells.sizes.group_count);
    int64_t count = 0;
    for (int64_t i = groups.begin(range); i < groups_end; ++i) count += count_bits(cells.groups[i].present);
    cells.range_ranks[range] = count;
  }
}

void list_words(const CellArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  const Ranges& groups = cells.sizes.groups;
  for (int64_t range = begin; range < end; ++range) {
    int64_t rank = cells.range_ranks[range];
    const int64_t groups_end = groups.end(range, cells.sizes.group_count);
    for (int64_t group = groups.begin(range); group < groups_end; ++group) {
      cells.groups[group].rank = rank;
      for (uint64_t bits = cells.groups[group].present; bits != 0; bits &= bits - 1, ++rank) {
        cells.numbers[rank] = group * kGroupWords + __builtin_ctzll(bits);
        cells.words[rank].bits = 0;
      }
    }
  }
}

template <bool kHashed>
void mark_cells(const SiteArgs& args, int64_t begin, int64_t end) {
  const Cells& cells = args.cells;
  ActiveCells active(args);
  const auto write = [&](int64_t word, uint64_t bits)
                         HWY_ATTR { atomic_or(&cells.words[find_word<kHashed>(cells, word)].bits, bits); };
  Collector collector(write);
  Runs runs(args, args.order, begin, end);
  for (Run run; runs.next(run);) {
    active.visit(run, [&](int64_t word, uint64_t bits) HWY_ATTR { collector.add(word, bits); });
  }
}

void mark(const SiteArgs& args, int64_t begin, int64_t end, Task&) {
  args.cells.sizes.hashed ? mark_cells<true>(args, begin, end) : mark_cells<false>(args, begin, end);
}

void count_cells(const CellArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  const Ranges& words = cells.sizes.words;
  for (int64_t range = begin; range < end; ++range) {
    const int64_t words_end = words.end(range, cells.word_count);
    int64_t count = 0;
    for (int64_t i = words.begin(range); i < words_end; ++i) count += count_bits(cells.words[i].bits);
    cells.range_ranks[range] = count;
  }
}

// Decodes ascending cells to coordinates.
class Decoder {
 public:
  explicit Decoder(const Args& args)
      : width_(args.width().output_extent),
        height_(args.height().output_extent),
        depth_(args.depth().output_extent) {}

  HWY_INLINE Site decode(int64_t cell) {
    if (cell >= line_end_) find_line(cell);
    site_.w = static_cast<int32_t>(cell - line_begin_);
    return site_;
  }

 private:
  void find_line(int64_t cell) {
    const int64_t line = cell / width_;
    const int64_t plane = line / height_;
    line_begin_ = line * width_;
    line_end_ = line_begin_ + width_;
    site_.h = static_cast<int32_t>(line - plane * height_);
    site_.b = static_cast<int32_t>(plane / depth_);
    site_.d = static_cast<int32_t>(plane % depth_);
  }

  int64_t width_, height_, depth_;
  int64_t line_begin_ = 0, line_end_ = 0;
  Site site_{};
};

HWY_INLINE void write_row(int32_t* row, const Site& site, bool has_depth) {
  *row++ = site.b;
  if (has_depth) *row++ = site.d;
  *row++ = site.h;
  *row = site.w;
}

void list_cells(const CellArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  const Ranges& words = cells.sizes.words;
  const bool has_depth = args.columns == 4;
  Decoder decoder(args);
  for (int64_t range = begin; range < end; ++range) {
    int64_t rank = cells.range_ranks[range];
    const int64_t words_end = words.end(range, cells.word_count);
    for (int64_t i = words.begin(range); i < words_end; ++i) {
      Word& word = cells.words[i];
      word.rank = rank;
      if (args.sub_m) {
        rank += count_bits(word.bits);
        continue;
      }
      for (uint64_t bits = word.bits; bits != 0; bits &= bits - 1, ++rank) {
        const Site site = decoder.decode(cells.numbers[i] * kWordCells + __builtin_ctzll(bits));
        write_row(args.out_indices + rank * args.columns, site, has_depth);
      }
    }
  }
}

void find_rows(const RowArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t cell = args.cell(args.site(args.order[i]));
    // Only the first row of equal sites is used.
    if (i > 0 && args.cell(args.site(args.order[i - 1])) == cell) continue;
    const Window window = cells.sizes.hashed ? find_window<true>(cells, cell) : find_window<false>(cells, cell);
    args.rows[window.first_rank] = args.order[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

MLUOP_EXPORT_KERNEL(claim_kernel, claim, ClaimArgs);
MLUOP_EXPORT_KERNEL(count_words_kernel, count_words, CellArgs);
MLUOP_EXPORT_KERNEL(list_words_kernel, list_words, CellArgs);
MLUOP_EXPORT_KERNEL(mark_kernel, mark, SiteArgs);
MLUOP_EXPORT_KERNEL(count_cells_kernel, count_cells, CellArgs);
MLUOP_EXPORT_KERNEL(list_cells_kernel, list_cells, CellArgs);
MLUOP_EXPORT_KERNEL(row_kernel, find_rows, RowArgs);

// Hashed only, between claim and mark.

void count_slots(const SlotArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t range = begin; range < end; ++range) {
    const Range slots = args.slots(range);
    int64_t count = 0;
    for (int64_t slot = slots.begin; slot < slots.end; ++slot) count += args.cells.slots[slot] != kNoWord ? 1 : 0;
    args.sort.first_places[range] = count;
  }
}

void collect_words(const SlotArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t range = begin; range < end; ++range) {
    const Range slots = args.slots(range);
    int64_t place = args.sort.first_places[range];
    for (int64_t slot = slots.begin; slot < slots.end; ++slot) {
      if (args.cells.slots[slot] == kNoWord) continue;
      args.sort.words.keys[0][place] = args.cells.slots[slot];
      args.sort.words.values[0][place++] = static_cast<uint32_t>(slot);
    }
  }
}

void place_words(const PlaceArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    args.cells.slot_ranks[args.slots[i]] = static_cast<int32_t>(i);
    args.cells.words[i].bits = 0;
  }
}

}  // namespace mluop::get_indice_pairs::native
#endif
