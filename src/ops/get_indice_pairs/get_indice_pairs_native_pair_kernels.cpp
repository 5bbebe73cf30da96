#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/get_indice_pairs/get_indice_pairs_native_pair_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/simd.h"
#include "ops/get_indice_pairs/cells-inl.h"
#include "ops/get_indice_pairs/get_indice_pairs_native_kernels.h"
#include "primitives/mask_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Collects the pairs of a tile of sites in NRAM, by offset, and appends them to those of the chunk.
class PairWriter {
 public:
  PairWriter(const PairArgs& args, const PairTile& tile, int64_t chunk)
      : tile_(tile),
        tile_sites_(args.tile_sites),
        offset_count_(args.offset_count()),
        pairs_(args.indice_pairs + chunk * kChunkSites),
        site_count_(args.site_count),
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

// The pairs of a convolution that is not submanifold: all cells that a site contributes to are active, and
// consecutive cells have consecutive ranks.
template <bool kHashed>
class RegularPairs {
 public:
  explicit RegularPairs(const PairArgs& args)
      : args_(args), depth_(args.depth()), height_(args.height()), width_(args.width()) {}

  // Appends the pairs of the sites [begin, end).
  void append_sites(const PairWriter& writer, int64_t begin, int64_t end) const {
    for (int64_t l = begin; l < end; ++l) {
      const Site site = args_.site(l);
      const Hits w = width_.hits(site.w);
      if (w.n == 0) continue;
      for_each_line(args_, site.b, depth_.hits(site.d), height_.hits(site.h), w,
                    [&](int64_t k, int64_t last) HWY_ATTR { append_line(writer, l, k, last, w.n); });
    }
  }

 private:
  HWY_INLINE void append_line(const PairWriter& writer, int64_t l, int64_t k, int64_t last, int64_t count) const {
    const Axis& width = args_.width();
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

// Submanifold, direct positions: the lines of cells around a run of sites; most of them have no word in the set.
class SiteRun {
 public:
  static constexpr int64_t kSites = 64;

  // The sites [begin, begin + count), at most kSites.
  SiteRun(const Args& args, const HitFinder& width, int64_t begin, int64_t count) : args_(args), count_(count) {
    for (int64_t i = 0; i < count; ++i) {
      const Site site = args.site(begin + i);
      const Hits w = width.hits(site.w);
      depths_[i] = site.d;
      heights_[i] = site.h;
      // A site without hits has no cells.
      first_[i] = args.cell(site) - site.w + (w.n > 0 ? w.o - w.n + 1 : 0);
      cells_[i] = w.n;
      k_[i] = w.k + w.n - 1;
    }
    // The lanes past the last site are outside the space.
    for (int64_t i = count; i < kSites; ++i) {
      depths_[i] = -args.depth().pad - 1;
      heights_[i] = first_[i] = cells_[i] = 0;
    }
  }

  // Calls visit(i, k, active, word, in_word) for the lines with active cells, by offset, then by site: site begin
  // + i; the offset k of the first cell of the line; a bit for each active cell from that one on; the word and the
  // place of the first cell. Lines that cross the end of a word go to visit_crossing(i, k, first, count): their
  // first cell and the number of cells.
  template <class Visit, class VisitCrossing>
  HWY_INLINE void for_each_line(const Cells& cells, const Visit& visit,
                                const VisitCrossing& visit_crossing) const {
    const Axis& depth = args_.depth();
    const Axis& height = args_.height();
    for (int64_t kd = 0; kd < depth.kernel; ++kd) {
      const int64_t above = depth.pad - kd;
      if (std::abs(above) >= depth.output_extent) continue;
      for (int64_t kh = 0; kh < height.kernel; ++kh) {
        const int64_t beside = height.pad - kh;
        if (std::abs(beside) >= height.output_extent) continue;
        const int64_t distance = (above * height.output_extent + beside) * args_.width().output_extent;
        const int64_t k = (kd * height.kernel + kh) * args_.width().kernel;
        // All look-ups precede the visits, so that their cache misses overlap.
        Lines lines;
        for (int64_t i = 0; i < count_; i += static_cast<int64_t>(hn::Lanes(Tag()))) {
          find_lines(cells, i, above, beside, distance, lines);
        }
        for (uint64_t rest = lines.found; rest != 0; rest &= rest - 1) {
          const int64_t i = __builtin_ctzll(rest);
          const int64_t first = first_[i] + distance;
          if (HWY_UNLIKELY((lines.crossing >> i & 1) != 0)) {
            visit_crossing(i, k + k_[i], first, cells_[i]);
          } else {
            visit(i, k + k_[i], lines.active[i], cells.words[lines.positions[i]], first % kWordCells);
          }
        }
      }
    }
  }

 private:
  using Tag = hn::ScalableTag<int64_t>;

  // What is found for the sites of the run.
  struct Lines {
    uint64_t found = 0, crossing = 0;  // a bit for each site; those that cross are among those found
    alignas(64) uint64_t active[kSites];
    alignas(64) int64_t positions[kSites];  // of the words
  };

  static HWY_INLINE hn::Mask<Tag> inside(hn::Vec<Tag> coordinate, int64_t extent) {
    const Tag d;
    return hn::And(hn::Gt(coordinate, hn::Set(d, -1)), hn::Lt(coordinate, hn::Set(d, extent)));
  }

  // Finds the lines of a vector of sites, from i on.
  HWY_INLINE void find_lines(const Cells& cells, int64_t i, int64_t above, int64_t beside, int64_t distance,
                             Lines& lines) const {
    const Tag d;
    const hn::RebindToUnsigned<Tag> du;
    // The gathers address members by their distance from those of the first element.
    static_assert(sizeof(Group) == 2 * sizeof(int64_t) && sizeof(Word) == 2 * sizeof(int64_t));
    const auto one = hn::Set(du, uint64_t{1});
    const auto six_bits = hn::Set(d, 63);
    const auto valid =
        hn::And(inside(hn::Add(hn::Load(d, depths_ + i), hn::Set(d, above)), args_.depth().output_extent),
                inside(hn::Add(hn::Load(d, heights_ + i), hn::Set(d, beside)), args_.height().output_extent));
    const auto first = hn::IfThenElseZero(valid, hn::Add(hn::Load(d, first_ + i), hn::Set(d, distance)));
    const auto count = hn::Load(d, cells_ + i);
    const auto in_word = hn::And(first, six_bits);
    const auto word = hn::ShiftRight<6>(first);
    const auto in_group = hn::BitCast(du, hn::And(word, six_bits));
    const auto group = hn::ShiftLeft<1>(hn::ShiftRight<6>(word));

    const auto present = hn::GatherIndex(du, &cells.groups->present, group);
    const auto stored = hn::And(hn::Shr(present, in_group), one);
    const auto before = hn::And(present, hn::Sub(hn::Shl(one, in_group), one));
    const auto position =
        hn::Add(hn::GatherIndex(d, &cells.groups->rank, group), hn::BitCast(d, hn::PopulationCount(before)));
    const auto bits = hn::GatherIndex(du, &cells.words->bits, hn::ShiftLeft<1>(position));
    const auto line = hn::Sub(hn::Shl(one, hn::BitCast(du, hn::Min(count, six_bits))), one);
    const auto active =
        hn::And(hn::And(hn::Shr(bits, hn::BitCast(du, in_word)), line), hn::Sub(hn::Zero(du), stored));
    hn::Store(active, du, lines.active + i);
    hn::Store(position, d, lines.positions + i);
    // Lines of a whole word or more are treated as if they crossed its end: they are as rare.
    const auto crosses = hn::Or(hn::Gt(hn::Add(in_word, count), hn::Set(d, kWordCells)), hn::Gt(count, six_bits));
    const auto found = hn::Or(hn::Ne(hn::BitCast(d, active), hn::Zero(d)), crosses);
    lines.crossing |= mluop::HWY_NAMESPACE::bits_of(Tag(), hn::And(valid, crosses)) << i;
    lines.found |= mluop::HWY_NAMESPACE::bits_of(Tag(), hn::And(valid, found)) << i;
  }

  const Args& args_;
  int64_t count_;
  // For each site: depth, height, the first cell in its own line, the number of cells, the offset of the first.
  alignas(64) int64_t depths_[kSites], heights_[kSites], first_[kSites], cells_[kSites], k_[kSites];
};

// A stored word and the active cells of a line in it.
struct Found {
  const Word* word;
  uint64_t bits;
};

// The active cells of a word among the cells `line`. Direct: without branches.
template <bool kHashed>
HWY_INLINE Found find_cells(const Cells& cells, int64_t word, uint64_t line) {
  if constexpr (kHashed) {
    const int64_t position = find_word<true>(cells, word);
    if (position < 0) return {cells.words, 0};
    return {cells.words + position, cells.words[position].bits & line};
  }
  const Group& group = cells.groups[word / kGroupWords];
  const int64_t in_group = word % kGroupWords;
  const Word* const at = cells.words + group.rank + count_bits(group.present & ((uint64_t{1} << in_group) - 1));
  const uint64_t stored = group.present >> in_group & 1;
  return {at, at->bits & line & (0 - stored)};
}

// The pairs of a submanifold convolution: only cells that are sites are active.
template <bool kHashed>
class SubmanifoldPairs {
 public:
  explicit SubmanifoldPairs(const PairArgs& args)
      : args_(args), depth_(args.depth()), height_(args.height()), width_(args.width()) {}

  // Appends the pairs of the sites [begin, end).
  void append_sites(const PairWriter& writer, int64_t begin, int64_t end) const {
    if constexpr (kHashed) {
      for (int64_t l = begin; l < end; ++l) {
        const Site site = args_.site(l);
        const Hits w = width_.hits(site.w);
        if (w.n == 0) continue;
        for_each_line(args_, site.b, depth_.hits(site.d), height_.hits(site.h), w,
                      [&](int64_t k, int64_t last)
                          HWY_ATTR { append_line(writer, l, k + w.n - 1, last - w.n + 1, w.n); });
      }
    } else {
      for (int64_t l = begin; l < end; l += SiteRun::kSites) {
        const SiteRun run(args_, width_, l, HWY_MIN(SiteRun::kSites, end - l));
        run.for_each_line(
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
void collect_chunks(const PairArgs& args, int64_t begin, int64_t end, Task& task) {
  const PairTile tile(task.nram, args.tile_sites, args.offset_count());
  const Pairs pairs(args);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const PairWriter writer(args, tile, chunk);
    const int64_t chunk_end = HWY_MIN((chunk + 1) * kChunkSites, args.site_count);
    for (int64_t l = chunk * kChunkSites; l < chunk_end; l += args.tile_sites) {
      pairs.append_sites(writer, l, HWY_MIN(l + args.tile_sites, chunk_end));
      writer.flush();
    }
  }
}

void find_pairs(const PairArgs& args, int64_t begin, int64_t end, Task& task) {
  const bool hashed = args.cells.sizes.hashed;
  if (args.sub_m) {
    hashed ? collect_chunks<SubmanifoldPairs<true>>(args, begin, end, task)
           : collect_chunks<SubmanifoldPairs<false>>(args, begin, end, task);
  } else {
    hashed ? collect_chunks<RegularPairs<true>>(args, begin, end, task)
           : collect_chunks<RegularPairs<false>>(args, begin, end, task);
  }
}

// data[0, count) = value. The caller fences non-temporal stores.
HWY_INLINE void fill_elements(int32_t* HWY_RESTRICT data, int64_t count, int32_t value, bool stream) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto values = hn::Set(d, value);
  const auto misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) / sizeof(int32_t)) % lanes;
  const int64_t head = std::min((lanes - misaligned) % lanes, count);
  std::fill_n(data, head, value);
  int64_t i = head;
  if (stream) {
    for (; i + lanes <= count; i += lanes) hn::Stream(values, d, data + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::Store(values, d, data + i);
  }
  std::fill_n(data + i, count - i, value);
}

void fill(const FillArgs& args, int64_t begin, int64_t end, Task&) {
  fill_elements(args.data + begin, end - begin, args.value, false);
}

void pad(const PadArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t row = begin / args.site_count; row * args.site_count < end; ++row) {
    const int64_t row_begin = row * args.site_count;
    const int64_t first = std::max(begin, row_begin + args.indice_num[row / 2]);
    const int64_t last = std::min(end, row_begin + args.site_count);
    if (first < last) fill_elements(args.indice_pairs + first, last - first, -1, args.stream);
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

MLUOP_EXPORT_KERNEL(pair_kernel, find_pairs, PairArgs);
MLUOP_EXPORT_KERNEL(fill_kernel, fill, FillArgs);
MLUOP_EXPORT_KERNEL(pad_kernel, pad, PadArgs);

void join_chunks(const PairArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t offsets = args.offset_count();
  for (int64_t row = begin; row < end; ++row) {
    int32_t* const pairs = args.indice_pairs + row * args.site_count;
    int32_t* to = pairs;
    for (int64_t chunk = 0; chunk < chunk_count(args); ++chunk) {
      const int32_t* from = pairs + chunk * kChunkSites;
      const int32_t count = args.counts[chunk * offsets + row / 2];
      if (to != from) std::memmove(to, from, static_cast<size_t>(count) * sizeof(int32_t));
      to += count;
    }
    if (row % 2 == 0) args.indice_num[row / 2] = static_cast<int32_t>(to - pairs);
  }
}

}  // namespace mluop::get_indice_pairs::native
#endif
