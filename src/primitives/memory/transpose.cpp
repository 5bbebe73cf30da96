#include "primitives/memory/transpose.h"

#include <algorithm>

#include "core/caches.h"
#include "team/transfer.h"

namespace mluop {
namespace {

template <class T>
struct TransposeTile {
  TransposeTile(Arena& nram, int64_t max_rows, int64_t max_columns)
      : rows(max_rows),
        columns(max_columns),
        source(nram.take<T>("source", {columns, rows})),
        copy(nram.take<T>("copy", {rows, columns})) {}

  static TransposeTile fit(Arena& nram, int64_t columns) {
    constexpr int64_t kTileBytes = 32 << 10;
    const int64_t bytes =
        std::min(kTileBytes, static_cast<int64_t>(nram.capacity()) / 2 / kCacheLine * kCacheLine);
    const int64_t elements = bytes / int64_t{sizeof(T)};
    const int64_t part = std::min(columns, elements);
    return {nram, elements / std::max<int64_t>(part, 1), part};
  }

  int64_t rows, columns;
  T* source;  // [columns, rows]
  T* copy;    // [rows, columns]
};

// Loads `rows` rows of `columns` elements of the copy; `from` is the first row.
template <class T>
void load_tile(const TransposeArgs& args, const TransposeTile<T>& tile, const T* from, int64_t rows,
               int64_t columns, Task& task) {
  constexpr int64_t kBytes = sizeof(T);
  const int64_t row_stride = args.strides[1], column_stride = args.strides[2];
  if (column_stride == 1) {
    load_rows(task, tile.copy, columns * kBytes, from, row_stride * kBytes, columns * kBytes, rows);
    return;
  }
  if (row_stride == 1) {
    load_rows(task, tile.source, rows * kBytes, from, column_stride * kBytes, rows * kBytes, columns);
  } else {
    for (int64_t j = 0; j < columns; ++j) {
      load_rows(task, tile.source + j * rows, kBytes, from + j * column_stride, row_stride * kBytes, kBytes, rows);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) tile.copy[i * columns + j] = tile.source[j * rows + i];
  }
}

// Work items: rows of the copy.
template <class T>
void transpose_rows(const TransposeArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kBytes = sizeof(T);
  const int64_t plane_rows = args.dims[1], columns = args.dims[2];
  const auto tile = TransposeTile<T>::fit(task.nram, columns);
  for (int64_t item = begin; item < end;) {
    const int64_t row = item % plane_rows;
    const int64_t rows = std::min({tile.rows, plane_rows - row, end - item});
    const T* from = static_cast<const T*>(args.from) + item / plane_rows * args.strides[0] + row * args.strides[1];
    T* to = static_cast<T*>(args.to) + item * columns;
    for (int64_t first = 0; first < columns; first += tile.columns) {
      const int64_t width = std::min(tile.columns, columns - first);
      ++task.statistics->tiles;
      load_tile(args, tile, from + first * args.strides[2], rows, width, task);
      store_rows(task, to + first, columns * kBytes, tile.copy, width * kBytes, width * kBytes, rows);
    }
    item += rows;
  }
}

}  // namespace

void transpose(Context& context, const TransposeArgs& args) {
  launch(context, "transpose", device_task_dim(), Evenly{args.dims[0] * args.dims[1]},
         args.element_bytes == 2 ? transpose_rows<uint16_t> : transpose_rows<uint32_t>, args);
}

}  // namespace mluop
