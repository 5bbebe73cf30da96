#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/get_indice_pairs/native/mark_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/get_indice_pairs/native/cells-inl.h"
#include "ops/get_indice_pairs/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {

// Calls visit(word, bits) for the cells that a site activates: submanifold, its own, else those that it
// contributes to.
class ActiveCells {
 public:
  explicit ActiveCells(const Args& call)
      : call_(call), depth_(call.depth()), height_(call.height()), width_(call.width()) {}

  template <class Visit>
  HWY_INLINE void visit(int64_t row, const Visit& visit) const {
    const Site site = call_.site(row);
    if (call_.sub_m) {
      const int64_t cell = call_.cell(site);
      visit(cell / kWordCells, uint64_t{1} << cell % kWordCells);
      return;
    }
    const Hits w = width_.hits(site.w);
    if (w.n == 0) return;
    for_each_line(call_, site.b, depth_.hits(site.d), height_.hits(site.h), w,
                  [&](int64_t, int64_t last)
                      HWY_ATTR { for_each_word(last, w.n, call_.width().dilation, visit); });
  }

 private:
  const Args& call_;
  HitFinder depth_, height_, width_;
};

// The bits that consecutive sites set in a word, collected: an atomic update takes as long as many sites.
// write(word, bits) is called at least once for each bit.
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
  // The lines of a 3 x 3 x 3 filter over one another seldom compete for an entry.
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

  // Whether the slots suffice, as far as the tasks have reported.
  bool has_room() {
    constexpr int64_t kReportedWords = 64;
    if (claimed_ >= kReportedWords) report();
    return args_.claimed_words.load(std::memory_order_relaxed) <= cells_.sizes.max_words;
  }

  void claim(int64_t word) {
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
  int64_t claimed_ = 0;  // since the last report
};

void claim(const ClaimArgs& args, int64_t begin, int64_t end, Task&) {
  const ActiveCells active(args.call);
  if (args.cells.sizes.hashed) {
    SlotClaimer claimer(args);
    for (int64_t l = begin; l < end && claimer.has_room(); ++l) {
      active.visit(l, [&](int64_t word, uint64_t) HWY_ATTR { claimer.claim(word); });
    }
    return;
  }
  // The bits of groups are words.
  const auto write = [&](int64_t group, uint64_t words)
                         HWY_ATTR { atomic_or(&args.cells.groups[group].present, words); };
  Collector collector(write);
  for (int64_t l = begin; l < end; ++l) {
    active.visit(l, [&](int64_t word, uint64_t)
                        HWY_ATTR { collector.add(word / kGroupWords, uint64_t{1} << word % kGroupWords); });
  }
}

template <bool kHashed>
void mark_cells(const MarkArgs& args, int64_t begin, int64_t end) {
  const Cells& cells = args.cells;
  const ActiveCells active(args.call);
  const auto write = [&](int64_t word, uint64_t bits)
                         HWY_ATTR { atomic_or(&cells.words[find_word<kHashed>(cells, word)].bits, bits); };
  Collector collector(write);
  for (int64_t l = begin; l < end; ++l) {
    active.visit(l, [&](int64_t word, uint64_t bits) HWY_ATTR { collector.add(word, bits); });
  }
}

void mark(const MarkArgs& args, int64_t begin, int64_t end, Task&) {
  args.cells.sizes.hashed ? mark_cells<true>(args, begin, end) : mark_cells<false>(args, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

MLUOP_EXPORT_KERNEL(claim_kernel, claim, ClaimArgs);
MLUOP_EXPORT_KERNEL(mark_kernel, mark, MarkArgs);

}  // namespace mluop::get_indice_pairs::native
#endif
