#include <algorithm>

#include "ops/masked_im2col_forward/device/kernels.h"
#include "team/transfer.h"

namespace mluop::masked_im2col_forward::device {
namespace {

// to[j, i] = from[i, j]
template <class T>
void transpose_tile(const T* from, int64_t rows, int64_t columns, T* to) {
  // Writes to this many lines at a time.
  constexpr int64_t kColumns = 16;
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t last = std::min(first + kColumns, columns);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = first; j < last; ++j) to[j * rows + i] = from[i * columns + j];
    }
  }
}

// T: an unsigned integer of the size of an element.
template <class T>
void transpose_matrices(const TransposeMatricesArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kBytes = sizeof(T);
  const TransposeTile tile(task.nram, args.tile_rows);
  T* const rows = reinterpret_cast<T*>(tile.rows_of_matrix);
  T* const columns = reinterpret_cast<T*>(tile.columns_of_matrix);
  const int64_t items_of_tile = args.matrices * args.block_count();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t row = item / items_of_tile * args.tile_rows;
    const int64_t matrix = item % items_of_tile / args.block_count();
    const int64_t column = item % args.block_count() * args.block_columns();
    const int64_t height = std::min(args.tile_rows, args.rows - row);
    const int64_t width = std::min(args.block_columns(), args.columns - column);
    const T* from =
        static_cast<const T*>(args.from) + matrix * args.from_stride + row * args.from_row_stride + column;
    T* to = static_cast<T*>(args.to) + matrix * args.to_stride + column * args.to_row_stride + row;
    ++task.statistics->tiles;
    load_rows(task, rows, width * kBytes, from, args.from_row_stride * kBytes, width * kBytes, height);
    transpose_tile(rows, height, width, columns);
    store_rows(task, to, args.to_row_stride * kBytes, columns, height * kBytes, height * kBytes, width);
  }
}

}  // namespace

RangeKernel<TransposeMatricesArgs> transpose_kernel(int32_t element_size) {
  return element_size == 2 ? transpose_matrices<uint16_t> : transpose_matrices<uint32_t>;
}

}  // namespace mluop::masked_im2col_forward::device
