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

// Lanes of a 128-bit block of floats: instructions interleave vectors within such blocks.
inline constexpr size_t kBlockLanes = 4;

// Transposes within blocks: element i of a block of v[j] is then what element j of that block of v[i] was.
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

// columns[j][i] = from[i * stride + j], for i and j below Lanes(d).
template <class D, class T>
HWY_INLINE void load_transposed(D d, const T* from, int64_t stride, hn::Vec<D>* HWY_RESTRICT columns) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  static_assert(kLanes == 4 || kLanes == 8 || kLanes == 16);
  HWY_UNROLL(4) for (size_t i = 0; i < kLanes; i += kBlockLanes) {
    const T* row = from + static_cast<int64_t>(i) * stride;
    columns[i] = load_float(d, row);
    columns[i + 1] = load_float(d, row + stride);
    columns[i + 2] = load_float(d, row + 2 * stride);
    columns[i + 3] = load_float(d, row + 3 * stride);
    transpose_blocks(d, columns[i], columns[i + 1], columns[i + 2], columns[i + 3]);
  }
  // Now block b of columns[4 * k + j] is column 4 * b + j of the rows 4 * k and following.
  if constexpr (kLanes == 8) {
    HWY_UNROLL(4) for (size_t j = 0; j < kBlockLanes; ++j) {
      const auto v0 = columns[j], v1 = columns[j + 4];
      columns[j] = hn::ConcatLowerLower(d, v1, v0);
      columns[j + 4] = hn::ConcatUpperUpper(d, v1, v0);
    }
  } else if constexpr (kLanes == 16) {
    HWY_UNROLL(4) for (size_t j = 0; j < kBlockLanes; ++j) {
      const auto lower02 = hn::ConcatLowerLower(d, columns[j + 8], columns[j]);
      const auto upper02 = hn::ConcatUpperUpper(d, columns[j + 8], columns[j]);
      const auto lower13 = hn::ConcatLowerLower(d, columns[j + 12], columns[j + 4]);
      const auto upper13 = hn::ConcatUpperUpper(d, columns[j + 12], columns[j + 4]);
      columns[j] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(lower13), lower02);
      columns[j + 4] = hn::OddEvenBlocks(lower13, hn::SwapAdjacentBlocks(lower02));
      columns[j + 8] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(upper13), upper02);
      columns[j + 12] = hn::OddEvenBlocks(upper13, hn::SwapAdjacentBlocks(upper02));
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
