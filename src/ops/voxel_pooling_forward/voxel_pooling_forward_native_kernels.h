// Voxel pooling forward, native algorithm: memory, arguments and range kernels. Letters as in
// voxel_pooling_forward.h.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/voxel_pooling_forward/voxel_pooling_forward.h"
#include "primitives/sort/bucket_sort.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_forward::native {

// The points in range, sorted by cell.
struct SortedPoints {
  SortedPoints(Arena& arena, int64_t point_count, int32_t cell_count, int task_dim)
      : sort(arena, point_count, cell_count, task_dim),
        cells(arena.take<int32_t>("cells", {point_count})),
        located(arena.take<int32_t>("located points", {point_count})),
        located_counts(arena.take<int64_t>("counts of located points", {sort.task_dim()})) {}

  BucketSort<int32_t> sort;  // of points, in buckets that are cells
  // The points in range, ascending, and their cells. The points found by a task start at the index of its first
  // point.
  int32_t *cells, *located;  // [B, N]
  int64_t* located_counts;   // [task_dim]
};

// Work items: points. Writes pos_memo, finds the points in range and their cells, and counts the points of each
// cell.
struct LocateArgs : Args {
  SortedPoints& sorted;
  int64_t tile_points;
  bool stream;  // whether pos_memo bypasses the caches
};
RangeKernel<LocateArgs> locate_kernel();

struct LocateTile {
  LocateTile(Arena& nram, int64_t points)
      : cells(nram.take<int32_t>("cells", {points})), memo(nram.take<int32_t>("pos_memo", {points, 3})) {}
  int32_t* cells;  // [points]
  int32_t* memo;   // [points, 3]
};

// Work items: points.
void sort_points(const LocateArgs& args, int64_t begin, int64_t end, Task& task);

}  // namespace mluop::voxel_pooling_forward::native
