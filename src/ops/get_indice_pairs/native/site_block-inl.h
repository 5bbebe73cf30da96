// Submanifold, direct positions: the lines of cells around a block of sites, of which most have no word in the
// set. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_GET_INDICE_PAIRS_SITE_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_GET_INDICE_PAIRS_SITE_BLOCK_INL_H
#undef MLUOP_GET_INDICE_PAIRS_SITE_BLOCK_INL_H
#else
#define MLUOP_GET_INDICE_PAIRS_SITE_BLOCK_INL_H
#endif

#include <hwy/highway.h>

#include <cstdlib>

#include "ops/get_indice_pairs/native/cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

class SiteBlock {
 public:
  static constexpr int64_t kSites = 64;

  // The sites [begin, begin + count), at most kSites.
  SiteBlock(const Args& call, const HitFinder& width, int64_t begin, int64_t count) : call_(call), count_(count) {
    for (int64_t i = 0; i < count; ++i) {
      const Site site = call.site(begin + i);
      const Hits w = width.hits(site.w);
      depths_[i] = site.d;
      heights_[i] = site.h;
      // A site without hits has no cells.
      first_[i] = call.cell(site) - site.w + (w.n > 0 ? w.o - w.n + 1 : 0);
      cells_[i] = w.n;
      k_[i] = w.k + w.n - 1;
    }
    // The lanes past the last site are outside the space.
    for (int64_t i = count; i < kSites; ++i) {
      depths_[i] = -call.depth().pad - 1;
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
    const Axis& depth = call_.depth();
    const Axis& height = call_.height();
    for (int64_t kd = 0; kd < depth.kernel; ++kd) {
      const int64_t above = depth.pad - kd;
      if (std::abs(above) >= depth.output_extent) continue;
      for (int64_t kh = 0; kh < height.kernel; ++kh) {
        const int64_t beside = height.pad - kh;
        if (std::abs(beside) >= height.output_extent) continue;
        const int64_t distance = (above * height.output_extent + beside) * call_.width().output_extent;
        const int64_t k = (kd * height.kernel + kh) * call_.width().kernel;
        // All look-ups precede the visits, so that their cache misses overlap.
        const Lines lines = find_lines(cells, above, beside, distance);
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

  // What is found for the sites of the block.
  struct Lines {
    uint64_t found = 0, crossing = 0;  // a bit for each site; those that cross are among those found
    alignas(64) uint64_t active[kSites];
    alignas(64) int64_t positions[kSites];  // of the words
  };

  static HWY_INLINE hn::Mask<Tag> inside(hn::Vec<Tag> coordinate, int64_t extent) {
    const Tag d;
    return hn::And(hn::Gt(coordinate, hn::Set(d, -1)), hn::Lt(coordinate, hn::Set(d, extent)));
  }

  static HWY_INLINE uint64_t bits_of(hn::Mask<Tag> mask) {
    uint64_t bits = 0;
    hn::StoreMaskBits(Tag(), mask, reinterpret_cast<uint8_t*>(&bits));
    return bits;
  }

  HWY_INLINE Lines find_lines(const Cells& cells, int64_t above, int64_t beside, int64_t distance) const {
    Lines lines;
    for (int64_t i = 0; i < count_; i += static_cast<int64_t>(hn::Lanes(Tag()))) {
      find(cells, i, above, beside, distance, lines);
    }
    return lines;
  }

  // Finds the lines of a vector of sites, from i on.
  HWY_INLINE void find(const Cells& cells, int64_t i, int64_t above, int64_t beside, int64_t distance,
                       Lines& lines) const {
    const Tag d;
    const hn::RebindToUnsigned<Tag> du;
    // The gathers address members by their distance from those of the first element.
    static_assert(sizeof(Group) == 2 * sizeof(int64_t) && sizeof(Word) == 2 * sizeof(int64_t));
    const auto one = hn::Set(du, uint64_t{1});
    const auto six_bits = hn::Set(d, 63);
    const auto valid =
        hn::And(inside(hn::Add(hn::Load(d, depths_ + i), hn::Set(d, above)), call_.depth().output_extent),
                inside(hn::Add(hn::Load(d, heights_ + i), hn::Set(d, beside)), call_.height().output_extent));
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
    // Lines of a whole word and more cross its end, or are as rare.
    const auto crosses = hn::Or(hn::Gt(hn::Add(in_word, count), hn::Set(d, kWordCells)), hn::Gt(count, six_bits));
    const auto found = hn::Or(hn::Ne(hn::BitCast(d, active), hn::Zero(d)), crosses);
    lines.crossing |= bits_of(hn::And(valid, crosses)) << i;
    lines.found |= bits_of(hn::And(valid, found)) << i;
  }

  const Args& call_;
  int64_t count_;
  // For each site: depth, height, the first cell in its own line, the number of cells, the offset of the first.
  alignas(64) int64_t depths_[kSites], heights_[kSites], first_[kSites], cells_[kSites], k_[kSites];
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
