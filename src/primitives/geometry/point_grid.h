// Points sorted by the cells of a uniform grid: a search compares the points of the cells around a center instead
// of all points. In a cell, points are ascending. Rows extend along x; consecutive cells of a row form one run of
// points.
#pragma once

#include <hwy/base.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "primitives/geometry/point_planes.h"

namespace mluop {

// The cells of a batch. They cover most of the finite points; the outer cells extend to infinity.
struct GridCells {
  // The cell of a coordinate in a dimension. Each step is monotonic: a greater coordinate is never in a lower
  // cell. NaN is in cell 0.
  int64_t cell(int dim, float coordinate) const {
    const float position = (coordinate - low[dim]) * scale[dim];
    return position > 0 ? static_cast<int64_t>(std::min(position, last[dim])) : 0;
  }
  int64_t extent(int dim) const { return static_cast<int64_t>(last[dim]) + 1; }
  int64_t count() const { return extent(0) * extent(1) * extent(2); }

  float low[3];
  float scale[3];  // cells a unit of length, positive
  float last[3];   // the last cell, an integer
};

struct PointGrid {
  // Maximum number of parts of a batch that are sorted in parallel. Each needs a histogram, so few are best.
  static constexpr int64_t kMaxParts = 4;
  // Places are int32.
  static constexpr int64_t kMaxPoints = 1 << 30;
  // fp32 represents all integers up to this number.
  static constexpr int64_t kMaxCells = 1 << 24;
  // With sides above the radius of find_runs() there are 3 x 3 rows of cells, and few more due to rounding.
  static constexpr int64_t kMaxRuns = 16;
  // A vector that begins before the end of a run may be loaded.
  static constexpr int64_t kPadding = 16;

  PointGrid(Arena& arena, const PointPlanes& points, int task_dim)
      : planes(points),
        parts(std::clamp<int64_t>(task_dim / planes.B, 1, kMaxParts)),
        max_cells(std::min(planes.size(), kMaxCells)),
        cells(arena.take<GridCells>("cells", {planes.B})),
        cell_of_point(arena.take<int32_t>("cell of point", {planes.B, planes.size()})),
        places(arena.take<int32_t>("places", {planes.B, parts, place_count()})),
        coordinates(arena.take<float>("sorted coordinates", {planes.B, 3, sorted_size()})),
        indices(arena.take<int32_t>("sorted indices", {planes.B, sorted_size()})) {}

  int64_t sorted_size() const { return planes.size() + kPadding; }
  float* plane(int64_t b, int64_t dim) const { return coordinates + (b * 3 + dim) * sorted_size(); }
  int32_t* sorted_indices(int64_t b) const { return indices + b * sorted_size(); }

  // One more cell holds the non-finite points and the padding of the planes.
  int64_t place_count() const { return max_cells + 2; }
  // Element c is the place of the next point of a part in cell c; element -1 is 0. After the sort, the elements of
  // the last part are the ends of the cells, which are the beginnings of the next cells.
  int32_t* next_places(int64_t b, int64_t part) const { return places + (b * parts + part) * place_count() + 1; }

  // Finds runs of sorted points that include all finite points whose coordinates differ from the center's by at
  // most `radius`, and returns their number, or max_runs + 1 if there are more than max_runs rows of cells. A
  // point p >= c - radius is not below c - radius rounded to fp32, because rounding is monotonic and p is an fp32
  // number; so it is not in a lower cell. Likewise for c + radius.
  // number, and so is not in a lower cell; likewise for c + radius.
  HWY_INLINE int64_t find_runs(int64_t b, const float (&center)[3], float radius, int64_t max_runs,
                               Range* runs) const {
    const GridCells& grid = cells[b];
    int64_t first[3], last[3];
    for (int dim = 0; dim < 3; ++dim) {
      first[dim] = grid.cell(dim, center[dim] - radius);
      last[dim] = grid.cell(dim, center[dim] + radius);
    }
    if ((last[1] - first[1] + 1) * (last[2] - first[2] + 1) > max_runs) return max_runs + 1;
    const int32_t* const ends = next_places(b, parts - 1);
    int64_t count = 0;
    for (int64_t z = first[2]; z <= last[2]; ++z) {
      for (int64_t y = first[1]; y <= last[1]; ++y) {
        const int64_t row = (z * grid.extent(1) + y) * grid.extent(0);
        runs[count] = {ends[row + first[0] - 1], ends[row + last[0]]};
        count += runs[count].size() > 0 ? 1 : 0;
      }
    }
    return count;
  }

  // Upper bound of the difference between a coordinate of a point and the center's, if their squared distance in
  // fp32 is at most `squared_radius`: no square of a difference exceeds their rounded sum. So the difference is at
  // most the root, up to the rounding of difference and square, or its square is rounded to 0.
  static HWY_INLINE float coordinate_radius(float squared_radius) {
    constexpr double kRelativeError = 0x1p-20, kAbsoluteError = 0x1p-70;
    return static_cast<float>(std::sqrt(double{squared_radius}) * (1 + kRelativeError) + kAbsoluteError);
  }

  const PointPlanes& planes;
  int64_t parts;           // parts of a batch
  int64_t max_cells;       // maximum number of cells of a batch
  GridCells* cells;        // [B]
  int32_t* cell_of_point;  // [B, planes.size()]
  int32_t* places;         // [B, parts, place_count()]
  float* coordinates;      // [B, 3, sorted_size()], sorted points, padded with NaN
  int32_t* indices;        // [B, sorted_size()], indices in the batch
};

// Chooses cells with sides of about `side`, or longer sides if there would be too many cells. Returns the number
// of cells of all batches. The cells cover the bulk of the points, estimated from a sample: a few outliers do not
// enlarge them.
int64_t choose_cells(Context& context, const PointGrid& grid, float side);

// Sorts the points into the chosen cells. The result does not depend on the number of parts. Linear cost.
void sort_points(Context& context, const PointGrid& grid);

}  // namespace mluop
