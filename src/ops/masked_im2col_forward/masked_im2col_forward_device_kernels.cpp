#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col_forward/masked_im2col_forward_device_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/masked_im2col_forward/masked_im2col_forward_device_kernels.h"
#include "primitives/memory/stream-inl.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col_forward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// Rows and columns of the squares that are transposed in registers.
template <class T>
inline constexpr int64_t kSquare = 1;

template <class T>
HWY_INLINE void transpose_square(const T* from, int64_t, T* to, int64_t) {
  *to = *from;
}

#else

// Vectors of 16 bytes.
template <class T>
inline constexpr int64_t kSquare{16 / sizeof(T)};

// to[j * to_stride + i] = from[i * from_stride + j] for i and j below kSquare. Interleaving the first half of the
// vectors with the second half rotates the bits of (row, column) by one; as many steps as half of these bits
// exchange row and column.
template <class T>
HWY_INLINE void transpose_square(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  constexpr int64_t kCount = kSquare<T>;
  const hn::CappedTag<T, kCount> d;
  hn::Vec<decltype(d)> v[kCount];
  HWY_UNROLL(8) for (int64_t i = 0; i < kCount; ++i) v[i] = hn::LoadU(d, from + i * from_stride);
  HWY_UNROLL(3) for (int64_t steps = kCount; steps > 1; steps /= 2) {
    hn::Vec<decltype(d)> out[kCount];
    HWY_UNROLL(4) for (int64_t i = 0; i < kCount / 2; ++i) {
      out[2 * i] = hn::InterleaveLower(d, v[i], v[i + kCount / 2]);
      out[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kCount / 2]);
    }
    HWY_UNROLL(8) for (int64_t i = 0; i < kCount; ++i) v[i] = out[i];
  }
  HWY_UNROLL(8) for (int64_t j = 0; j < kCount; ++j) hn::StoreU(v[j], d, to + j * to_stride);
}

#endif

// to[j * to_stride + i] = from[i * from_stride + j] for i below rows and j below columns
template <class T>
void transpose_tile(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to, int64_t to_stride) {
  constexpr int64_t kStep = kSquare<T>;
  const int64_t square_rows = rows / kStep * kStep, square_columns = columns / kStep * kStep;
  for (int64_t i = 0; i < square_rows; i += kStep) {
    for (int64_t j = 0; j < square_columns; j += kStep) {
      transpose_square(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i < square_rows ? square_columns : 0; j < columns; ++j)
      to[j * to_stride + i] = from[i * from_stride + j];
  }
}

// T: an unsigned integer with the size of an element.
template <class T>
void transpose(const TransposeArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kBytes = sizeof(T);
  const TransposeTile tile(task.nram, args.tile_rows, args.tile_columns, kBytes);
  T* const rows = reinterpret_cast<T*>(tile.rows_of_matrix);
  T* const columns = reinterpret_cast<T*>(tile.columns_of_matrix);
  const int64_t column_stride = tile.column_stride / kBytes;
  const mluop::HWY_NAMESPACE::StreamWriter stream;
  const int64_t items_of_tile = args.matrices * args.segment_count();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t row = item / items_of_tile * args.tile_rows;
    const int64_t matrix = item % items_of_tile / args.segment_count();
    const int64_t column = item % args.segment_count() * args.tile_columns;
    const int64_t height = std::min(args.tile_rows, args.rows - row);
    const int64_t width = std::min(args.tile_columns, args.columns - column);
    const T* from =
        static_cast<const T*>(args.from) + matrix * args.from_stride + row * args.from_row_stride + column;
    T* to = static_cast<T*>(args.to) + matrix * args.to_stride + column * args.to_row_stride + row;
    ++task.statistics->tiles;
    load_rows(task, rows, tile.row_stride, from, args.from_row_stride * kBytes, width * kBytes, height);
    transpose_tile(rows, tile.row_stride / kBytes, height, width, columns, column_stride);
    if (args.stream) {
      for (int64_t j = 0; j < width; ++j) {
        stream.copy(to + j * args.to_row_stride, columns + j * column_stride, static_cast<size_t>(height));
      }
      task.statistics->bytes_stored += width * height * kBytes;
    } else {
      store_rows(task, to, args.to_row_stride * kBytes, columns, tile.column_stride, height * kBytes, width);
    }
  }
}

RangeKernel<TransposeArgs> select_transpose(int32_t element_size) {
  return element_size == 2 ? transpose<uint16_t> : transpose<uint32_t>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col_forward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col_forward::device {

HWY_EXPORT(select_transpose);

RangeKernel<TransposeArgs> transpose_kernel(int32_t element_size) {
  return MLUOP_DISPATCH(select_transpose)(element_size);
}

// copy_windows() uses no vectors: all instruction sets share one function.
namespace {

int32_t load_coordinate(Task& task, const int32_t* coordinates, int64_t mask) {
  int32_t coordinate;
  load(task, &coordinate, coordinates + mask, sizeof(coordinate));
  return coordinate;
}

// One strided copy from GDRAM to GDRAM, counted as loaded and stored.
void copy_rows(Task& task, std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t row_bytes, int64_t rows) {
  load_rows(task, to, to_stride, from, from_stride, row_bytes, rows);
  task.statistics->bytes_stored += row_bytes * rows;
}

}  // namespace

void copy_windows(const CopyArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t pixel = args.pixel_bytes();
  for (int64_t mask = begin; mask < end; ++mask) {
    const int64_t h = load_coordinate(task, args.mask_h_idx, mask) - args.pad_h;
    const int64_t w = load_coordinate(task, args.mask_w_idx, mask) - args.pad_w;
    const Range rows{std::max<int64_t>(h, 0), std::min(h + args.kernel_h, args.height)};
    const Range columns{std::max<int64_t>(w, 0), std::min(w + args.kernel_w, args.width)};
    if (rows.size() <= 0 || columns.size() <= 0) continue;
    const int64_t offset = mask * args.kernel_size() + (rows.begin - h) * args.kernel_w + (columns.begin - w);
    copy_rows(task, args.windows + offset * pixel, args.kernel_w * pixel,
              args.pixels + (rows.begin * args.width + columns.begin) * pixel, args.width * pixel,
              columns.size() * pixel, rows.size());
  }
}

}  // namespace mluop::masked_im2col_forward::device
#endif
