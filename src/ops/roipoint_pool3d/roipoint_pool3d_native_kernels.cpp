#include "ops/roipoint_pool3d/roipoint_pool3d_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roipoint_pool3d/roipoint_pool3d_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/dtype.h"
#include "core/simd.h"
#include "primitives/geometry/bounded_points-inl.h"
#include "primitives/memory/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roipoint_pool3d::native {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::visit_points_in_box;

// Finds the first points, at most S, of box m of batch b. Returns their number.
HWY_INLINE int64_t find_samples(const SampleArgs& args, int64_t b, int64_t m, int32_t* samples) {
  int64_t count = 0;
  visit_points_in_box(args.boxes, b, m, args.bounded_points, [&](int64_t n) {
    samples[count++] = static_cast<int32_t>(n);
    return count < args.S;
  });
  return count;
}

// Copies a point of batch b to a row: its coordinates, then its features. T, here and below: an element type.
template <class T>
HWY_INLINE void copy_point(const SampleArgs& args, int64_t b, int32_t n, T* row) {
  const int64_t point = b * args.N + n;
  const T* const features = static_cast<const T*>(args.point_features) + point * args.C;
  std::memcpy(row, static_cast<const T*>(args.points) + point * 3, 3 * sizeof(T));
  std::memcpy(row + 3, features, static_cast<size_t>(args.C) * sizeof(T));
}

// Writes rows one tile at a time; all lines of a tile except the first and the last are whole.
template <class T>
HWY_INLINE void write_samples(const SampleArgs& args, int64_t b, const int32_t* samples, int64_t count,
                              const StreamWriter& writer, T* tile, T* to) {
  int64_t i = 0;  // index of the sample
  for (int64_t first = 0; first < args.S; first += args.tile_rows) {
    const int64_t rows = std::min(args.tile_rows, args.S - first);
    T* const at = to + first * args.row();
    T* const assembled = args.stream ? tile : at;
    for (int64_t row = 0; row < rows; ++row) {
      copy_point(args, b, samples[i], assembled + row * args.row());
      i = i + 1 < count ? i + 1 : 0;
    }
    if (args.stream) writer.copy(at, tile, static_cast<size_t>(rows * args.row()));
  }
}

template <class T>
HWY_INLINE void write_zeros(const SampleArgs& args, const StreamWriter& writer, T* to) {
  const size_t bytes = static_cast<size_t>(args.S * args.row()) * sizeof(T);
  if (args.stream) {
    writer.fill(reinterpret_cast<uint8_t*>(to), 0, bytes);
  } else {
    std::memset(to, 0, bytes);
  }
}

template <class T>
void sample(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  const SampleTile<T> tile(task.nram, args.tile_rows, args.row());
  int32_t* const samples = args.samples + task.taskId * args.S;
  const StreamWriter writer;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / args.M, m = item % args.M;
    T* const to = static_cast<T*>(args.pooled_features) + item * args.S * args.row();
    const int64_t count = find_samples(args, b, m, samples);
    if (count > 0) {
      write_samples(args, b, samples, count, writer, tile.rows, to);
    } else {
      write_zeros(args, writer, to);
    }
    args.pooled_empty_flag[item] = count > 0 ? 0 : 1;
  }
}

MLUOP_SELECT_BY_SIZE(sample, SampleArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roipoint_pool3d::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roipoint_pool3d::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(sample_kernel, sample, SampleArgs);

}  // namespace mluop::roipoint_pool3d::native
#endif
