#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/get_indice_pairs/native/pair_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cstring>

#include "core/simd.h"
#include "ops/get_indice_pairs/native/cells-inl.h"
#include "ops/get_indice_pairs/native/kernels.h"
#include "ops/get_indice_pairs/native/site_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {

// Collects the pairs of a tile of sites in NRAM, by offset, and appends them to those of the chunk.
class PairWriter {
 public:
  PairWriter(const PairArgs& args, const PairTile& tile, int64_t chunk)
      : tile_(tile),
        tile_sites_(args.tile_sites),
        offset_count_(args.call.offset_count()),
        pairs_(args.call.indice_pairs + chunk * kChunkSites),
        site_count_(args.call.site_count),
        counts_(args.counts + chunk * offset_count_) {
    std::fill_n(counts_, offset_count_, 0);
    std::fill_n(tile_.counts, offset_count_, 0);
  }

  HWY_INLINE void append(int64_t k, int64_t input, int64_t output) const {
    int32_t* to = tile_.pairs + 2 * k * tile_sites_ + tile_.counts[k]++;
    to[0] = static_cast<int32_t>(input);
    to[tile_sites_] = static_cast<int32_t>(output);
  }

  void flush() const {
    for (int64_t k = 0; k < offset_count_; ++k) {
      const int32_t count = tile_.counts[k];
      if (count == 0) continue;
      const int32_t* from = tile_.pairs + 2 * k * tile_sites_;
      int32_t* to = pairs_ + 2 * k * site_count_ + counts_[k];
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(int32_t));
      std::memcpy(to + site_count_, from + tile_sites_, static_cast<size_t>(count) * sizeof(int32_t));
      counts_[k] += count;
      tile_.counts[k] = 0;
    }
  }

 private:
  const PairTile& tile_;
  int64_t tile_sites_, offset_count_;
  int32_t* pairs_;
  int64_t site_count_;
  int32_t* counts_;  // [K], in the chunk
};

// The pairs of the sites [begin, end): all cells that a site contributes to are active, and consecutive cells have
// consecutive ranks.
template <bool kHashed>
class RegularPairs {
 public:
  explicit RegularPairs(const PairArgs& args)
      : args_(args), depth_(args.call.depth()), height_(args.call.height()), width_(args.call.width()) {}

  void append(const PairWriter& writer, int64_t begin, int64_t end) const {
    for (int64_t l = begin; l < end; ++l) {
      const Site site = args_.call.site(l);
      const Hits w = width_.hits(site.w);
      if (w.n == 0) continue;
      for_each_line(args_.call, site.b, depth_.hits(site.d), height_.hits(site.h), w,
                    [&](int64_t k, int64_t last) HWY_ATTR { append_line(writer, l, k, last, w.n); });
    }
  }

 private:
  HWY_INLINE void append_line(const PairWriter& writer, int64_t l, int64_t k, int64_t last, int64_t count) const {
    const Axis& width = args_.call.width();
    if (width.dilation == 1) {
      const int64_t first = rank_of<kHashed>(args_.cells, last - count + 1);
      for (int64_t i = count; i-- > 0; k += width.stride) writer.append(k, l, first + i);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        writer.append(k + i, l, rank_of<kHashed>(args_.cells, last - i * width.dilation));
      }
    }
  }

  const PairArgs& args_;
  HitFinder depth_, height_, width_;
};

// Submanifold: the cells that are sites.
template <bool kHashed>
class SubmanifoldPairs {
 public:
  explicit SubmanifoldPairs(const PairArgs& args)
      : args_(args), depth_(args.call.depth()), height_(args.call.height()), width_(args.call.width()) {}

  void append(const PairWriter& writer, int64_t begin, int64_t end) const {
    if constexpr (kHashed) {
      for (int64_t l = begin; l < end; ++l) append_site(writer, l);
    } else {
      for (int64_t l = begin; l < end; l += SiteBlock::kSites) {
        const SiteBlock block(args_.call, width_, l, HWY_MIN(SiteBlock::kSites, end - l));
        block.for_each_line(
            args_.cells,
            [&](int64_t i, int64_t k, uint64_t active, const Word& word, int64_t in_word) HWY_ATTR {
              // Consecutive active cells have consecutive ranks.
              for (int64_t rank = rank_in(word, in_word); active != 0; active &= active - 1, ++rank) {
                writer.append(k - __builtin_ctzll(active), l + i, row_of(rank));
              }
            },
            [&](int64_t i, int64_t k, int64_t first, int64_t count)
                HWY_ATTR { append_line(writer, l + i, k, first, count); });
      }
    }
  }

 private:
  HWY_INLINE void append_site(const PairWriter& writer, int64_t l) const {
    const Site site = args_.call.site(l);
    const Hits w = width_.hits(site.w);
    if (w.n == 0) return;
    for_each_line(args_.call, site.b, depth_.hits(site.d), height_.hits(site.h), w,
                  [&](int64_t k, int64_t last)
                      HWY_ATTR { append_line(writer, l, k + w.n - 1, last - w.n + 1, w.n); });
  }

  HWY_INLINE int64_t row_of(int64_t rank) const { return args_.rows == nullptr ? rank : args_.rows[rank]; }

  // k: of the cell `first`.
  HWY_INLINE void append_line(const PairWriter& writer, int64_t l, int64_t k, int64_t first, int64_t count) const {
    for_each_word(first + count - 1, count, 1, [&](int64_t word, uint64_t line) HWY_ATTR {
      const Found found = find_cells<kHashed>(args_.cells, word, line);
      for (uint64_t bits = found.bits; bits != 0; bits &= bits - 1) {
        const int64_t in_word = __builtin_ctzll(bits);
        const int64_t rank = rank_in(*found.word, in_word);
        writer.append(k + first - word * kWordCells - in_word, l, row_of(rank));
      }
    });
  }

  const PairArgs& args_;
  HitFinder depth_, height_, width_;
};

template <class Pairs>
void write_pairs(const PairArgs& args, int64_t begin, int64_t end, Task& task) {
  const PairTile tile(task.nram, args.tile_sites, args.call.offset_count());
  const Pairs pairs(args);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const PairWriter writer(args, tile, chunk);
    const int64_t chunk_end = HWY_MIN((chunk + 1) * kChunkSites, args.call.site_count);
    for (int64_t l = chunk * kChunkSites; l < chunk_end; l += args.tile_sites) {
      pairs.append(writer, l, HWY_MIN(l + args.tile_sites, chunk_end));
      writer.flush();
    }
  }
}

void pairs(const PairArgs& args, int64_t begin, int64_t end, Task& task) {
  const bool hashed = args.cells.sizes.hashed;
  if (args.call.sub_m) {
    hashed ? write_pairs<SubmanifoldPairs<true>>(args, begin, end, task)
           : write_pairs<SubmanifoldPairs<false>>(args, begin, end, task);
  } else {
    hashed ? write_pairs<RegularPairs<true>>(args, begin, end, task)
           : write_pairs<RegularPairs<false>>(args, begin, end, task);
  }
}

// Submanifold.
void rows(const RowArgs& args, int64_t begin, int64_t end, Task&) {
  const Cells& cells = args.cells;
  for (int64_t l = begin; l < end; ++l) {
    const int64_t cell = args.call.cell(args.call.site(l));
    const int64_t rank = cells.sizes.hashed ? rank_of<true>(cells, cell) : rank_of<false>(cells, cell);
    if (args.distinct) {
      args.rows[rank] = static_cast<int32_t>(l);
    } else {
      atomic_min(&args.rows[rank], static_cast<int32_t>(l));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

MLUOP_EXPORT_KERNEL(pair_kernel, pairs, PairArgs);
MLUOP_EXPORT_KERNEL(row_kernel, rows, RowArgs);

}  // namespace mluop::get_indice_pairs::native
#endif
