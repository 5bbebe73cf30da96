// Packing: a panel of a matrix in the order in which the GEMM microkernel reads it, and rows of lanes of two
// elements. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_PACK_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_PACK_PANEL_INL_H
#undef MLUOP_PRIMITIVES_PACK_PANEL_INL_H
#else
#define MLUOP_PRIMITIVES_PACK_PANEL_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/element.h"
#include "core/sizes.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Some columns of a matrix of any strides and element type.
template <class T>
struct MatrixColumns {
  MatrixColumns part(int64_t row, int64_t column) const {
    return {from + row * row_stride + column * column_stride, row_stride, column_stride, rows - row,
            columns - column};
  }

  const T* from;
  int64_t row_stride, column_stride;
  int64_t rows, columns;
};

// Copies a matrix to fp32 [rows][stride].
template <class T>
void copy_elements(const MatrixColumns<T>& matrix, float* to, int64_t stride) {
  for (int64_t row = 0; row < matrix.rows; ++row) {
    for (int64_t column = 0; column < matrix.columns; ++column) {
      to[row * stride + column] =
          mluop::to_f32(matrix.from[row * matrix.row_stride + column * matrix.column_stride]);
    }
  }
}

// The same for column_stride == 1 and whole vectors of columns. Prefetches, because the rows are short and far
// apart.
template <class T>
void copy_vectors(const MatrixColumns<T>& matrix, float* to, int64_t stride) {
  constexpr int64_t kPrefetchedRows = 32;
  const PanelTag d;
  const T* from = matrix.from;
  for (int64_t row = 0; row < matrix.rows; ++row, from += matrix.row_stride, to += stride) {
    if (row + kPrefetchedRows < matrix.rows) {
      prefetch_row<Use::kReadOnce>(from + kPrefetchedRows * matrix.row_stride,
                                   matrix.columns * int64_t{sizeof(T)});
    }
    for (int64_t column = 0; column < matrix.columns; column += kPanelLanes) {
      hn::Store(load_f32(d, from + column), d, to + column);
    }
  }
}

// The same for row_stride == 1 and whole squares.
template <class T>
void copy_squares(const MatrixColumns<T>& matrix, float* to, int64_t stride) {
  const PanelTag d;
  for (int64_t column = 0; column < matrix.columns; column += kPanelLanes) {
    for (int64_t row = 0; row < matrix.rows; row += kPanelLanes * kPacked<T>) {
      hn::Vec<PanelTag> columns[kPanelLanes];
      load_transposed(d, matrix.from + column * matrix.column_stride + row, matrix.column_stride, columns);
      float* to_row = to + row * stride + column;
      HWY_UNROLL(16) for (int64_t j = 0; j < kPanelLanes; ++j) {
        hn::Store(unpack<T, 0>(d, columns[j]), d, to_row);
        to_row += stride;
        if constexpr (kPacked<T> == 2) {
          hn::Store(unpack<T, 1>(d, columns[j]), d, to_row);
          to_row += stride;
        }
      }
    }
  }
}

// Packs a matrix of at most kNr columns as fp32 [rows][columns], padded with zeros to whole vectors.
template <class T>
void pack_panel(const MatrixColumns<T>& matrix, float* to) {
  const int64_t rows = matrix.rows, columns = matrix.columns;
  const int64_t stride = round_up(columns, kPanelLanes);
  int64_t copied_rows = 0, copied_columns = columns / kPanelLanes * kPanelLanes;
  MatrixColumns<T> whole = matrix;
  whole.columns = copied_columns;
  if (matrix.column_stride == 1) {
    copied_rows = rows;
    copy_vectors(whole, to, stride);
  } else if (matrix.row_stride == 1) {
    copied_rows = rows / (kPanelLanes * kPacked<T>)*(kPanelLanes * kPacked<T>);
    whole.rows = copied_rows;
    copy_squares(whole, to, stride);
  }
  // The remainder: some columns of the rows already copied, and the other rows.
  MatrixColumns<T> right = matrix.part(0, copied_columns);
  right.rows = copied_rows;
  copy_elements(right, to + copied_columns, stride);
  copy_elements(matrix.part(copied_rows, 0), to + copied_rows * stride, stride);
  for (int64_t row = 0; row < rows; ++row) std::fill(to + row * stride + columns, to + (row + 1) * stride, 0.0F);
}

// Lanes of two elements: first[i] and second[i], of any alignment.
template <Element16 T>
HWY_INLINE hn::Vec<PanelTag> load_pairs(const T* first, const T* second) {
  const PanelTag d;
  const hn::RebindToUnsigned<PanelTag> lanes;
  const hn::Rebind<uint16_t, PanelTag> elements;
  const auto lower = hn::PromoteTo(lanes, hn::LoadU(elements, reinterpret_cast<const uint16_t*>(first)));
  const auto upper = hn::PromoteTo(lanes, hn::LoadU(elements, reinterpret_cast<const uint16_t*>(second)));
  return hn::BitCast(d, hn::Or(lower, hn::ShiftLeft<16>(upper)));
}

// to[0, count) = lanes of the elements of two rows, in whole vectors.
template <Element16 T>
HWY_INLINE void interleave_vectors(const T* first, const T* second, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += kPanelLanes) {
    hn::StoreU(load_pairs(first + i, second + i), PanelTag(), to + i);
  }
}

// The same for `count` elements, followed by zeros up to `width`. A null row stands for zeros.
template <Element16 T>
HWY_INLINE void interleave_rows(const T* const (&rows)[2], int64_t count, int64_t width, float* to) {
  const bool are_both = rows[0] != nullptr && rows[1] != nullptr;
  const int64_t whole = are_both ? count / kPanelLanes * kPanelLanes : 0;
  interleave_vectors(rows[0], rows[1], whole, to);
  const auto bits = [&](int row, int64_t i) {
    return rows[row] == nullptr || i >= count ? uint32_t{0} : uint32_t{rows[row][i].bits};
  };
  for (int64_t i = whole; i < width; ++i) {
    const uint32_t lane = bits(0, i) | bits(1, i) << 16;
    std::memcpy(to + i, &lane, sizeof(lane));
  }
}

// Packs a panel as [rows / 2][columns][2] without conversion, padded with zeros to whole vectors and to a multiple
// of `step` rows, an even number.
template <Element16 T>
void pack_panel(const MatrixColumns<T>& matrix, T* to, int64_t step = kStep<T>) {
  const int64_t columns = matrix.columns, width = round_up(columns, kPanelLanes);
  const auto at = [&](int64_t row, int64_t column) {
    return matrix.from + row * matrix.row_stride + column * matrix.column_stride;
  };
  // Contiguous pairs: squares of lanes.
  constexpr int64_t kSquareRows = 2 * kPanelLanes;
  const bool has_squares = matrix.row_stride == 1;
  const int64_t square_rows = has_squares ? matrix.rows / kSquareRows * kSquareRows : 0;
  const int64_t square_columns = has_squares ? columns / kPanelLanes * kPanelLanes : 0;
  for (int64_t column = 0; column < square_columns; column += kPanelLanes) {
    for (int64_t row = 0; row < square_rows; row += kSquareRows) {
      hn::Vec<PanelTag> pairs[kPanelLanes];
      load_transposed(PanelTag(), at(row, column), matrix.column_stride, pairs);
      T* square = to + row * width + 2 * column;
      HWY_UNROLL(16) for (int64_t j = 0; j < kPanelLanes; ++j) {
        hn::StoreU(pairs[j], PanelTag(), reinterpret_cast<float*>(square));
        square += 2 * width;
      }
    }
  }
  for (int64_t row = 0, rows = round_up(matrix.rows, step); row < rows; row += 2, to += 2 * width) {
    const bool has_first = row < matrix.rows, is_pair = row + 1 < matrix.rows;
    int64_t column = row < square_rows ? square_columns : 0;
    if (is_pair && matrix.column_stride == 1) {
      const int64_t whole = columns / kPanelLanes * kPanelLanes;
      interleave_vectors(at(row, column), at(row + 1, column), whole - column,
                         reinterpret_cast<float*>(to + 2 * column));
      column = whole;
    }
    for (; column < width; ++column) {
      to[2 * column] = column < columns && has_first ? *at(row, column) : T{};
      to[2 * column + 1] = column < columns && is_pair ? *at(row + 1, column) : T{};
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
