// Runs of neighbouring sites, and the cells along the width to which they contribute, as bits. Per-target code of
// Highway: include it inside foreach_target.
#if defined(MLUOP_GET_INDICE_PAIRS_RUNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_GET_INDICE_PAIRS_RUNS_INL_H
#undef MLUOP_GET_INDICE_PAIRS_RUNS_INL_H
#else
#define MLUOP_GET_INDICE_PAIRS_RUNS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "ops/get_indice_pairs/hits.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {

HWY_INLINE uint64_t bit_at(int64_t i) { return uint64_t{1} << i; }

// The lowest `count` bits: none if count is negative, all from 64 on.
HWY_INLINE uint64_t low_bits(int64_t count) {
  return count >= 64 ? ~uint64_t{0} : count <= 0 ? 0 : bit_at(count) - 1;
}

HWY_INLINE int64_t count_bits(uint64_t bits) { return __builtin_popcountll(bits); }

// Moves bit i to bit i + distance; bits that leave the word are dropped.
HWY_INLINE uint64_t shifted(uint64_t bits, int64_t distance) {
  return distance >= 64 || distance <= -64 ? 0 : distance >= 0 ? bits << distance : bits >> -distance;
}

// Compacts the bits of `bits` where `mask` is set, starting at bit 0.
HWY_INLINE uint64_t extract_bits(uint64_t bits, uint64_t mask) {
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
  return _pext_u64(bits, mask);
#else
  uint64_t extracted = 0;
  for (uint64_t rest = bits & mask; rest != 0; rest &= rest - 1) {
    extracted |= bit_at(count_bits(mask & ((rest & -rest) - 1)));
  }
  return extracted;
#endif
}

// Consecutive sites of one line in ascending order. Bit i: whether a site lies i cells after the first site.
struct Run {
  Site first;
  int64_t position;  // position of the first site
  uint64_t sites;
};

// Divides the offsets along the width into steps: over all offsets of a step, a run reaches at most 64 consecutive
// cells.
struct WidthSteps {
  static constexpr int64_t kMaxOffsets = 32;

  explicit WidthSteps(const Axis& width)
      : offsets(std::min(width.kernel, 1 + (kMaxOffsets - 1) / width.dilation)),
        max_distance(63 - (offsets - 1) * width.dilation) {}

  int64_t offsets;       // maximum number of offsets of a step
  int64_t max_distance;  // maximum distance from the first site of a run to its last
};

// Divides sites into runs.
class Runs {
 public:
  // Divides the sites [begin, end) of `order`; null: in the order of the rows.
  Runs(const Args& args, const uint32_t* order, int64_t begin, int64_t end)
      : args_(args),
        order_(order),
        max_distance_(WidthSteps(args.width()).max_distance),
        position_(begin),
        end_(end) {}

  // Whether there is another run.
  HWY_INLINE bool next(Run& run) {
    if (position_ >= end_) return false;
    const Site first = site();
    run = {first, position_, 1};
    int64_t last = 0;
    while (++position_ < end_) {
      const Site next = site();
      const int64_t distance = int64_t{next.w} - first.w;
      if (next.h != first.h || next.d != first.d || next.b != first.b) break;
      if (distance <= last || distance > max_distance_) break;
      run.sites |= bit_at(distance);
      last = distance;
    }
    return true;
  }

 private:
  HWY_INLINE Site site() const { return args_.site(order_ == nullptr ? position_ : order_[position_]); }

  const Args& args_;
  const uint32_t* order_;
  int64_t max_distance_, position_, end_;
};

// The sites of a run that contribute at one offset along the width, and their cells, in equal number and the same
// order. Bit j of `cells` is cell WidthHits::first_cell() + j; with stride 1, bit i of `sites` is bit i + distance
// of `cells`.
struct OffsetHits {
  uint64_t sites, cells;
  int64_t distance;
};

// The cells along the width to which a run contributes, at the offsets of a step.
class WidthHits {
 public:
  explicit WidthHits(const Axis& width) : axis_(width), divisor_(width.stride), steps_(width) {
    for (int64_t i = 0; i < 64; i += width.stride) period_ |= bit_at(i);
  }

  // Calls visit(k, count) after finding the hits of offsets [k, k + count), for each step that has any.
  template <class Visit>
  HWY_INLINE void for_each_step(const Run& run, const Visit& visit) {
    for (int64_t k = 0; k < axis_.kernel; k += steps_.offsets) {
      const int64_t count = std::min(steps_.offsets, axis_.kernel - k);
      find(run, k, count);
      if (cells_ != 0) visit(k, count);
    }
  }

  // The coordinate of the first cell of the step, which is bit 0.
  int64_t first_cell() const { return first_cell_; }
  // The cells of all offsets of the step.
  uint64_t cells() const { return cells_; }
  const OffsetHits& offset(int64_t i) const { return offsets_[i]; }

 private:
  // Where this is a multiple of the stride, the first site contributes to the corresponding cell at offset k.
  HWY_INLINE int64_t scaled_cell(const Run& run, int64_t k) const {
    return run.first.w + axis_.pad - k * axis_.dilation;
  }

  // The first cell at or after `scaled`.
  HWY_INLINE int64_t cell_from(int64_t scaled) const {
    return scaled > 0 ? divisor_.divide(scaled + axis_.stride - 1) : -divisor_.divide(-scaled);
  }

  HWY_INLINE void find(const Run& run, int64_t first_k, int64_t count) {
    cells_ = 0;
    first_cell_ = std::max<int64_t>(cell_from(scaled_cell(run, first_k + count - 1)), 0);
    for (int64_t i = 0; i < count; ++i) {
      // The sites at phase, phase + stride, ... contribute to the cells cell, cell + 1, ...; sites before `begin`
      // or from `end` on contribute to cells outside the line.
      const int64_t scaled = scaled_cell(run, first_k + i);
      const int64_t cell = cell_from(scaled);
      const int64_t phase = cell * axis_.stride - scaled;
      const int64_t begin = phase + std::max<int64_t>(-cell, 0) * axis_.stride;
      const int64_t end = phase + (axis_.output_extent - cell) * axis_.stride;
      const uint64_t hits = phase < 64 ? period_ << phase : 0;
      const uint64_t sites = run.sites & hits & low_bits(end) & ~low_bits(begin);
      const int64_t distance = cell - first_cell_;
      const uint64_t cells = shifted(axis_.stride == 1 ? sites : extract_bits(sites, hits), distance);
      offsets_[i] = {sites, cells, distance};
      cells_ |= cells;
    }
  }

  Axis axis_;
  Divisor divisor_;
  WidthSteps steps_;
  uint64_t period_ = 0;  // every stride-th bit
  int64_t first_cell_ = 0;
  uint64_t cells_ = 0;
  OffsetHits offsets_[WidthSteps::kMaxOffsets];
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
