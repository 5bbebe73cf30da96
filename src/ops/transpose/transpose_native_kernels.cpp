#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/transpose/transpose_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "core/sizes.h"
#include "ops/transpose/transpose.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::transpose {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::StreamWriter;

// The side of the squares of vectors of at most kMaxLanes lanes of 32 bits.
template <class T, size_t kMaxLanes>
constexpr int64_t kSide = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<float, kMaxLanes>())) * kPacked<T>;

#if HWY_TARGET == HWY_SCALAR

template <size_t kMaxLanes, bool kStream, class T>
HWY_INLINE void transpose_square(const StreamWriter&, const T* from, int64_t from_stride, T* to,
                                 int64_t to_stride) {
  constexpr int64_t kStep = kSide<T, kMaxLanes>;
  for (int64_t j = 0; j < kStep; ++j) {
    for (int64_t i = 0; i < kStep; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

#else

// to[j][i] = from[i][j] for a square; rows are from_stride and to_stride elements apart.
template <size_t kMaxLanes, bool kStream>
HWY_INLINE void transpose_square(const StreamWriter& writer, const float* from, int64_t from_stride, float* to,
                                 int64_t to_stride) {
  const hn::CappedTag<float, kMaxLanes> d;
  constexpr int64_t kLanes = kSide<float, kMaxLanes>;
  hn::Vec<decltype(d)> columns[kLanes];
  load_transposed(d, from, from_stride, columns);
  HWY_UNROLL(16) for (int64_t j = 0; j < kLanes; ++j) writer.write<kStream>(columns[j], d, to + j * to_stride);
}

template <size_t kMaxLanes, bool kStream>
HWY_INLINE void transpose_square(const StreamWriter& writer, const Half* from, int64_t from_stride, Half* to,
                                 int64_t to_stride) {
  const hn::CappedTag<float, kMaxLanes> d;
  const hn::Repartition<uint16_t, decltype(d)> d16;
  constexpr int64_t kLanes = kSide<float, kMaxLanes>;
  // Two elements of a row in each lane.
  hn::Vec<decltype(d)> first[kLanes], second[kLanes];
  load_transposed(d, from, from_stride, first);
  load_transposed(d, from + kLanes * from_stride, from_stride, second);
  auto* const row = reinterpret_cast<uint16_t*>(to);
  HWY_UNROLL(16) for (int64_t j = 0; j < kLanes; ++j) {
    const auto lower = hn::BitCast(d16, first[j]), upper = hn::BitCast(d16, second[j]);
    writer.write<kStream>(hn::ConcatEven(d16, upper, lower), d16, row + 2 * j * to_stride);
    writer.write<kStream>(hn::ConcatOdd(d16, upper, lower), d16, row + (2 * j + 1) * to_stride);
  }
}

#endif

// A matrix, and the rows [first, last) of its transpose.
template <class T>
struct Matrix {
  const T* from;  // [A, B]
  T* to;          // [B, A]
  int64_t A, B, first, last;
};

// Transposes rows [i0, i1) and columns [j0, j1) of a matrix in squares, as far as they go.
template <size_t kMaxLanes, bool kStream, class T>
HWY_INLINE void transpose_squares(const StreamWriter& writer, const Matrix<T>& m, int64_t i0, int64_t i1,
                                  int64_t j0, int64_t j1) {
  constexpr int64_t kStep = kSide<T, kMaxLanes>;
  for (int64_t j = j0; j + kStep <= j1; j += kStep) {
    for (int64_t i = i0; i + kStep <= i1; i += kStep) {
      transpose_square<kMaxLanes, kStream>(writer, m.from + i * m.B + j, m.B, m.to + j * m.A + i, m.A);
    }
  }
}

template <bool kStream, class T>
HWY_INLINE void transpose_matrix(const StreamWriter& writer, const Matrix<T>& m) {
  const auto end = [](int64_t begin, int64_t extent, int64_t side) { return begin + extent / side * side; };
  const int64_t rows = m.last - m.first;
  // Large squares end at `i0`, `j0`; small ones below and beside them end at `i1`, `j1`.
  const int64_t i0 = end(0, m.A, kSide<T, 16>), j0 = end(m.first, rows, kSide<T, 16>);
  const int64_t i1 = end(0, m.A, kSide<T, 4>), j1 = end(m.first, rows, kSide<T, 4>);
  transpose_squares<16, kStream>(writer, m, 0, i0, m.first, j0);
  transpose_squares<4, false>(writer, m, i0, i1, m.first, j0);
  transpose_squares<4, false>(writer, m, 0, i1, j0, j1);
  for (int64_t i = 0; i < m.A; ++i) {
    for (int64_t j = i < i1 ? j1 : m.first; j < m.last; ++j) m.to[j * m.A + i] = m.from[i * m.B + j];
  }
}

// Work items: (n, kRows rows of the output).
template <class T>
void transpose_rows(const Args& args, int64_t begin, int64_t end, Task&) {
  const StreamWriter writer;
  const int64_t blocks = ceil_div(args.B, kRows);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t at = item / blocks * args.A * args.B, first = item % blocks * kRows;
    const Matrix<T> matrix{
        static_cast<const T*>(args.input) + at, static_cast<T*>(args.output) + at, args.A, args.B, first,
        std::min(first + kRows, args.B)};
    if (args.stream) {
      transpose_matrix<true>(writer, matrix);
    } else {
      transpose_matrix<false>(writer, matrix);
    }
  }
}

MLUOP_SELECT_BY_SIZE(transpose_rows, Args);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::transpose
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::transpose {

MLUOP_EXPORT_KERNEL_OF_DTYPE(transpose_kernel, transpose_rows, Args);

}  // namespace mluop::transpose
#endif
