// Transposes a square tile of memory in registers. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_TRANSPOSE_INL_H
#undef MLUOP_PRIMITIVES_TRANSPOSE_INL_H
#else
#define MLUOP_PRIMITIVES_TRANSPOSE_INL_H
#endif

#include <hwy/highway.h>

#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <class D, class T>
HWY_INLINE void load_transposed(D d, const T* from, int64_t, hn::Vec<D>* columns) {
  columns[0] = load_float(d, from);
}

#else

// Transposes within blocks of 128 bits, where instructions interleave vectors: element i of a block of v[j] is
// then what element j of that block of v[i] was.
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>& v0, hn::Vec<D>& v1, hn::Vec<D>& v2, hn::Vec<D>& v3) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto lower01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
  const auto upper01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
  const auto lower23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
  const auto upper23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
  v0 = hn::BitCast(d, hn::InterleaveLower(pairs, lower01, lower23));
  v1 = hn::BitCast(d, hn::InterleaveUpper(pairs, lower01, lower23));
  v2 = hn::BitCast(d, hn::InterleaveLower(pairs, upper01, upper23));
  v3 = hn::BitCast(d, hn::InterleaveUpper(pairs, upper01, upper23));
}

// The lower half of the lanes from one place, the upper half from another: loads alone, no shuffle.
template <class D>
HWY_INLINE hn::Vec<D> load_halves(D d, const float* lower, const float* upper) {
  const hn::Half<D> half;
  return hn::Combine(d, hn::LoadU(half, upper), hn::LoadU(half, lower));
}
template <class D>
HWY_INLINE hn::Vec<D> load_halves(D d, const Half* lower, const Half* upper) {
  const hn::Rebind<uint16_t, D> bits;
  const hn::Half<decltype(bits)> half;
  return to_float(d, hn::Combine(bits, hn::LoadU(half, reinterpret_cast<const uint16_t*>(upper)),
                                 hn::LoadU(half, reinterpret_cast<const uint16_t*>(lower))));
}

// columns[j][i] = from[i * stride + j], for i and j below Lanes(d).
template <class D, class T>
HWY_INLINE void load_transposed(D d, const T* from, int64_t stride, hn::Vec<D>* HWY_RESTRICT columns) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  static_assert(kLanes == 4 || kLanes == 8 || kLanes == 16);
  if constexpr (kLanes == 4) {
    HWY_UNROLL(4) for (size_t i = 0; i < 4; ++i) {
      columns[i] = load_float(d, from + static_cast<int64_t>(i) * stride);
    }
    transpose_blocks(d, columns[0], columns[1], columns[2], columns[3]);
  } else {
    constexpr size_t kHalf = kLanes / 2;
    const T* lower = from;
    const T* upper = from + static_cast<int64_t>(kHalf) * stride;
    HWY_UNROLL(2) for (size_t first = 0; first < kLanes; first += kHalf) {
      hn::Vec<D>* half = columns + first;
      HWY_UNROLL(8) for (size_t i = 0; i < kHalf; ++i) {
        const int64_t row = static_cast<int64_t>(i) * stride + static_cast<int64_t>(first);
        half[i] = load_halves(d, lower + row, upper + row);
      }
      transpose_blocks(d, half[0], half[1], half[2], half[3]);
      if constexpr (kLanes == 16) {
        transpose_blocks(d, half[4], half[5], half[6], half[7]);
        // Now even blocks are of column j, odd ones of column j + 4.
        HWY_UNROLL(4) for (size_t j = 0; j < 4; ++j) {
          const auto v0 = half[j], v1 = half[j + 4];
          half[j] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v1), v0);
          half[j + 4] = hn::OddEvenBlocks(v1, hn::SwapAdjacentBlocks(v0));
        }
      }
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
