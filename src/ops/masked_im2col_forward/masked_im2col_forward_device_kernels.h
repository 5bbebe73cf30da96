// Masked im2col forward, device algorithm: arguments, NRAM and range kernels.
#pragma once

#include <cstddef>

#include "core/caches.h"
#include "core/sizes.h"
#include "ops/masked_im2col_forward/masked_im2col_forward.h"
#include "team/launch.h"

namespace mluop::masked_im2col_forward::device {

// Work items: (tile of rows, matrix, segment of columns), tiles outermost, so that consecutive work items read the
// same pages. All matrices have one size; each is transposed to separate rows. Distances are in elements.
struct TransposeArgs {
  int64_t segment_count() const { return ceil_div(columns, tile_columns); }
  int64_t item_count() const { return ceil_div(rows, tile_rows) * matrices * segment_count(); }

  int64_t matrices, rows, columns;
  int64_t from_stride, from_row_stride;  // distances between matrices, and between rows
  int64_t to_stride, to_row_stride;
  int32_t element_size;  // 2 or 4
  const void* from;
  void* to;
  int64_t tile_rows = 0, tile_columns = 0;  // chosen by the plan to fit NRAM
  bool stream;                              // the output bypasses the caches
};
RangeKernel<TransposeArgs> transpose_kernel(int32_t element_size);

// The NRAM of transpose_kernel().
struct TransposeTile {
  TransposeTile(Arena& nram, int64_t rows, int64_t columns, int64_t element_size)
      : row_stride(odd_lines(columns * element_size)),
        column_stride(odd_lines(rows * element_size)),
        rows_of_matrix(nram.take<std::byte>("rows", {rows, row_stride})),
        columns_of_matrix(nram.take<std::byte>("columns", {columns, column_stride})) {}

  // An odd number of whole cache lines, so that a column of the tile is spread over all sets of L1.
  static int64_t odd_lines(int64_t bytes) { return (ceil_div(bytes, kCacheLine) | 1) * kCacheLine; }

  int64_t row_stride, column_stride;  // in bytes
  std::byte* rows_of_matrix;          // [rows, columns] elements
  std::byte* columns_of_matrix;       // [columns, rows] elements
};

// Work items: masks. Copies the part of each window that lies in the feature, from GDRAM to GDRAM.
struct CopyArgs : Args {
  const std::byte* pixels;  // [H, W, C]
  std::byte* windows;       // [mask_cnt, kernel_h * kernel_w, C], zeros
};
void copy_windows(const CopyArgs& args, int64_t begin, int64_t end, Task& task);

}  // namespace mluop::masked_im2col_forward::device
