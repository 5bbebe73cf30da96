// Transposes a square of memory in registers, in 32-bit lanes: a float, or two 16-bit elements. Per-target code of
// Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_TRANSPOSE_SQUARE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_TRANSPOSE_SQUARE_INL_H
#undef MLUOP_PRIMITIVES_TRANSPOSE_SQUARE_INL_H
#else
#define MLUOP_PRIMITIVES_TRANSPOSE_SQUARE_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "primitives/simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements of T in a lane.
template <class T>
inline constexpr int64_t kPacked = int64_t{sizeof(float) / sizeof(T)};

// Element kIndex of each lane of a column, as fp32. T: an element type.
template <class T, int kIndex, class D>
HWY_INLINE hn::Vec<D> unpack(D d, hn::Vec<D> column) {
  static_assert(0 <= kIndex && kIndex < kPacked<T>);
  const hn::RebindToUnsigned<D> du;
  const auto lanes = hn::BitCast(du, column);
  if constexpr (kPacked<T> == 1) {
    return column;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return hn::BitCast(d, kIndex == 0 ? hn::ShiftLeft<16>(lanes) : hn::And(lanes, hn::Set(du, 0xFFFF0000U)));
  } else {
    return from_bits<T>(d, hn::TruncateTo(hn::Rebind<uint16_t, D>(), hn::ShiftRight<16 * kIndex>(lanes)));
  }
}

#if HWY_TARGET == HWY_SCALAR

template <class D, class RowOf>
HWY_INLINE void load_transposed_rows(D d, const RowOf& row_of, hn::Vec<D>* columns) {
  float lane;
  std::memcpy(&lane, row_of(0), sizeof(lane));
  columns[0] = hn::Set(d, lane);
}

template <class D, class RowOf>
HWY_INLINE void load_transposed_blocks(D d, const RowOf& row_of, hn::Vec<D>* columns) {
  for (int64_t j = 0; j < 4; ++j) columns[j] = hn::Set(d, row_of(0)[j]);
}

template <int kHalf, class D>
HWY_INLINE hn::Vec<D> load_halves(D d, const uint16_t* lanes) {
  return hn::Set(d, lanes[kHalf]);
}

#else

// Transposes the 4 x 4 lanes in each 128-bit block of four vectors (instructions interleave within these blocks):
// exchanges lane i of v[j] and lane j of v[i].
template <class D>
HWY_INLINE void transpose_4x4(D d, hn::Vec<D>& v0, hn::Vec<D>& v1, hn::Vec<D>& v2, hn::Vec<D>& v3) {
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

// Loads a vector of lanes from any alignment.
template <class D>
HWY_INLINE hn::Vec<D> load_packed(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D, Element16 T>
HWY_INLINE hn::Vec<D> load_packed(D d, const T* from) {
  return hn::BitCast(d, hn::LoadU(hn::Repartition<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from)));
}

// Loads a vector from blocks of four lanes.
template <class D, class BlockOf>
HWY_INLINE hn::Vec<D> load_blocks(D d, const BlockOf& block_of) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, block_of(0));
  } else {
    const hn::Half<D> half_d;
    constexpr auto kHalfBlocks = static_cast<int64_t>(hn::MaxLanes(half_d) / 4);
    return hn::Combine(d, load_blocks(half_d, [=](int64_t block) { return block_of(kHalfBlocks + block); }),
                       load_blocks(half_d, block_of));
  }
}

// Loads rows of four floats: lane i of columns[j], j below 4, is row_of(i)[j], for i below Lanes(d), at least 4.
template <class D, class RowOf>
HWY_INLINE void load_transposed_blocks(D d, const RowOf& row_of, hn::Vec<D>* HWY_RESTRICT columns) {
  HWY_UNROLL(4) for (int64_t i = 0; i < 4; ++i) {
    columns[i] = load_blocks(d, [=](int64_t block) { return row_of(4 * block + i); });
  }
  transpose_4x4(d, columns[0], columns[1], columns[2], columns[3]);
}

// Loads a square: lane i of columns[j] is the kPacked<T> elements at row_of(i) + j * kPacked<T>, for i and j below
// Lanes(d). Rows are loaded in halves, which replaces the last round of shuffles.
template <class D, class RowOf>
HWY_INLINE void load_transposed_rows(D d, const RowOf& row_of, hn::Vec<D>* HWY_RESTRICT columns) {
  constexpr size_t kSquare = hn::MaxLanes(D());
  static_assert(kSquare == 4 || kSquare == 8 || kSquare == 16);
  if constexpr (kSquare == 4) {
    HWY_UNROLL(4) for (size_t i = 0; i < 4; ++i) { columns[i] = load_packed(d, row_of(static_cast<int64_t>(i))); }
    transpose_4x4(d, columns[0], columns[1], columns[2], columns[3]);
  } else {
    constexpr size_t kHalf = kSquare / 2;
    const hn::Half<D> half_d;
    HWY_UNROLL(2) for (size_t first = 0; first < kSquare; first += kHalf) {
      hn::Vec<D>* half = columns + first;
      HWY_UNROLL(8) for (size_t i = 0; i < kHalf; ++i) {
        const auto* lower = row_of(static_cast<int64_t>(i));
        const auto* upper = row_of(static_cast<int64_t>(i + kHalf));
        const int64_t at = static_cast<int64_t>(first) * kPacked<std::remove_cvref_t<decltype(*lower)> >;
        half[i] = hn::Combine(d, load_packed(half_d, upper + at), load_packed(half_d, lower + at));
      }
      transpose_4x4(d, half[0], half[1], half[2], half[3]);
      if constexpr (kSquare == 16) {
        transpose_4x4(d, half[4], half[5], half[6], half[7]);
        // Even blocks of half[j] and half[j + 4] belong to column j, odd blocks to column j + 4.
        HWY_UNROLL(4) for (size_t j = 0; j < 4; ++j) {
          const auto v0 = half[j], v1 = half[j + 4];
          half[j] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v1), v0);
          half[j + 4] = hn::OddEvenBlocks(v1, hn::SwapAdjacentBlocks(v0));
        }
      }
    }
  }
}

// The kHalf-th halves (0 or 1) of the Lanes(d) 32-bit lanes at `lanes`; any alignment.
template <int kHalf, class D>
HWY_INLINE hn::Vec<D> load_halves(D d, const uint16_t* lanes) {
  const auto lower = hn::LoadU(d, lanes), upper = hn::LoadU(d, lanes + hn::Lanes(d));
  return kHalf == 0 ? hn::ConcatEven(d, upper, lower) : hn::ConcatOdd(d, upper, lower);
}

#endif

// load_transposed_rows() for rows that are `stride` elements apart.
template <class D, class T>
HWY_INLINE void load_transposed(D d, const T* from, int64_t stride, hn::Vec<D>* HWY_RESTRICT columns) {
  load_transposed_rows(
      d, [=](int64_t row) { return from + row * stride; }, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
