#include "primitives/geometry/point_grid.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/geometry/point_grid.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using GridTag = hn::CappedTag<float, 16>;
using GridMask = hn::Mask<GridTag>;

// The points of a part: whole groups.
HWY_INLINE Range points_of_part(const PointGrid& grid, int64_t part) {
  const Range groups = split(grid.planes.groups, static_cast<int>(grid.parts), static_cast<int>(part));
  return {groups.begin * PointPlanes::kGroupPoints, groups.end * PointPlanes::kGroupPoints};
}

HWY_INLINE GridMask finite_points(const float* const (&planes)[3], int64_t n) {
  const GridTag d;
  return hn::And(hn::And(hn::IsFinite(hn::Load(d, planes[0] + n)), hn::IsFinite(hn::Load(d, planes[1] + n))),
                 hn::IsFinite(hn::Load(d, planes[2] + n)));
}

// Work items: (b, part). Finds the cells of the points, and counts the points of each cell.
void count_points(const PointGrid& grid, int64_t begin, int64_t end, Task&) {
  const GridTag d;
  const hn::RebindToSigned<GridTag> di;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / grid.parts, part = item % grid.parts;
    const float* const planes[3] = {grid.planes.plane(b, 0), grid.planes.plane(b, 1), grid.planes.plane(b, 2)};
    const GridCells& cells = grid.cells[b];
    // As GridCells::cell().
    const auto cells_of = [&](int dim, int64_t n) {
      const auto position =
          hn::Mul(hn::Sub(hn::Load(d, planes[dim] + n), hn::Set(d, cells.low[dim])), hn::Set(d, cells.scale[dim]));
      return hn::ConvertTo(di, hn::Min(hn::Max(position, hn::Zero(d)), hn::Set(d, cells.last[dim])));
    };
    const auto extent_x = hn::Set(di, static_cast<int32_t>(cells.extent(0)));
    const auto extent_y = hn::Set(di, static_cast<int32_t>(cells.extent(1)));
    const auto outside = hn::Set(di, static_cast<int32_t>(cells.count()));
    int32_t* const counts = grid.next_places(b, part);
    std::fill_n(counts - 1, cells.count() + 2, 0);
    int32_t* const cell_of_point = grid.cell_of_point + b * grid.planes.size();
    const Range points = points_of_part(grid, part);
    for (int64_t n = points.begin; n < points.end; n += kLanes) {
      const auto row = hn::Add(hn::Mul(cells_of(2, n), extent_y), cells_of(1, n));
      const auto cell = hn::Add(hn::Mul(row, extent_x), cells_of(0, n));
      const auto finite = hn::RebindMask(di, finite_points(planes, n));
      hn::Store(hn::IfThenElse(finite, cell, outside), di, cell_of_point + n);
    }
    for (int64_t n = points.begin; n < points.end; ++n) ++counts[cell_of_point[n]];
  }
}

// Work items: (b, part). Moves the points to the places of their cells.
void move_points(const PointGrid& grid, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / grid.parts, part = item % grid.parts;
    const float *const x = grid.planes.plane(b, 0), *const y = grid.planes.plane(b, 1),
                       *const z = grid.planes.plane(b, 2);
    float *const to_x = grid.plane(b, 0), *const to_y = grid.plane(b, 1), *const to_z = grid.plane(b, 2);
    int32_t* const to_indices = grid.sorted_indices(b);
    const int32_t* const cell_of_point = grid.cell_of_point + b * grid.planes.size();
    int32_t* const places = grid.next_places(b, part);
    const Range points = points_of_part(grid, part);
    for (int64_t n = points.begin; n < points.end; ++n) {
      const int64_t place = places[cell_of_point[n]]++;
      to_x[place] = x[n];
      to_y[place] = y[n];
      to_z[place] = z[n];
      to_indices[place] = static_cast<int32_t>(n);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace {

// Work items: batches. Replaces the counts by the first place of each cell in each part.
void scan_cells(const PointGrid& grid, int64_t begin, int64_t end, Task&) {
  for (int64_t b = begin; b < end; ++b) {
    int32_t sum = 0;
    for (int64_t cell = 0; cell <= grid.cells[b].count(); ++cell) {
      for (int64_t part = 0; part < grid.parts; ++part) {
        int32_t& place = grid.next_places(b, part)[cell];
        const int32_t count = place;
        place = sum;
        sum += count;
      }
    }
    const int64_t size = grid.planes.size();
    for (int dim = 0; dim < 3; ++dim) {
      std::fill_n(grid.plane(b, dim) + size, PointGrid::kPadding, std::numeric_limits<float>::quiet_NaN());
    }
    std::fill_n(grid.sorted_indices(b) + size, PointGrid::kPadding, 0);
  }
}

struct GridBounds {
  double low[3], high[3];
};

// The bounds of the bulk of the finite points, from a sample. 0 if the sample has no finite point.
GridBounds bounds_of_bulk(const PointPlanes& planes, int64_t b) {
  constexpr int64_t kSamples = 64;
  // Fraction of the samples that is excluded on each side, and fraction of the rest by which the bounds are
  // widened.
  constexpr int64_t kOutliers = 32, kWidening = 16;
  const int64_t samples = std::min(planes.N, kSamples);
  const int64_t step = samples == 0 ? 1 : planes.N / samples;
  float sampled[3][kSamples];
  int64_t count = 0;
  for (int64_t i = 0; i < samples; ++i) {
    // Points may repeat periodically.
    constexpr uint32_t kGoldenRatio = 0x9E3779B1;
    const uint32_t offset = static_cast<uint32_t>(i) * kGoldenRatio;
    const int64_t n = i * step + offset % step;
    const float point[3] = {planes.plane(b, 0)[n], planes.plane(b, 1)[n], planes.plane(b, 2)[n]};
    if (!std::all_of(point, point + 3, [](float coordinate) { return std::isfinite(coordinate); })) continue;
    for (int dim = 0; dim < 3; ++dim) sampled[dim][count] = point[dim];
    ++count;
  }
  GridBounds bounds{};
  for (int dim = 0; dim < 3 && count > 0; ++dim) {
    float* const all = sampled[dim];
    const auto nth = [&](int64_t n) {
      std::nth_element(all, all + n, all + count);
      return double{all[n]};
    };
    const double low = nth(count / kOutliers), high = nth(count - 1 - count / kOutliers);
    bounds.low[dim] = std::max(low - (high - low) / kWidening, double{std::numeric_limits<float>::lowest()});
    bounds.high[dim] = high + (high - low) / kWidening;
  }
  return bounds;
}

// As many cells as allowed, of equal sides not shorter than `side`.
GridCells cells_of(const GridBounds& bounds, double side, int64_t max_cells) {
  double last[3];
  for (;;) {
    for (int dim = 0; dim < 3; ++dim) {
      last[dim] = std::floor((bounds.high[dim] - bounds.low[dim]) / side);
    }
    const double excess = (last[0] + 1) * (last[1] + 1) * (last[2] + 1) / static_cast<double>(max_cells);
    if (excess <= 1) break;
    constexpr double kMinGrowth = 1.05;
    side *= std::max(std::cbrt(excess), kMinGrowth);
  }
  // Not 0, because infinity is multiplied by it.
  const float scale = std::max(static_cast<float>(1 / side), std::numeric_limits<float>::min());
  GridCells cells{};
  for (int dim = 0; dim < 3; ++dim) {
    cells.low[dim] = static_cast<float>(bounds.low[dim]);
    cells.scale[dim] = scale;
    cells.last[dim] = static_cast<float>(last[dim]);
  }
  return cells;
}

Evenly parts_of(const PointGrid& grid) { return {grid.planes.B * grid.parts}; }

int task_dim_of_parts(const PointGrid& grid) {
  constexpr int64_t kPointBytes = 12;
  return choose_task_dim(parts_of(grid).total, grid.planes.B * grid.planes.size() * kPointBytes);
}

}  // namespace

MLUOP_EXPORT_KERNEL(count_points_kernel, count_points, PointGrid);
MLUOP_EXPORT_KERNEL(move_points_kernel, move_points, PointGrid);

int64_t choose_cells(Context& context, const PointGrid& grid, float side) {
  struct CellsArgs {
    const PointGrid& grid;
    float side;
  };
  // Work items: batches.
  const auto choose = [](const CellsArgs& args, int64_t begin, int64_t end, Task&) {
    for (int64_t b = begin; b < end; ++b) {
      const GridBounds bounds = bounds_of_bulk(args.grid.planes, b);
      args.grid.cells[b] = cells_of(bounds, args.side, args.grid.max_cells);
    }
  };
  const int64_t B = grid.planes.B;
  constexpr int64_t kBatchBytes = 1 << 16;
  launch<CellsArgs>(context, "choose_cells", choose_task_dim(B, B * kBatchBytes), Evenly{B}, choose, {grid, side});
  int64_t count = 0;
  for (int64_t b = 0; b < B; ++b) count += grid.cells[b].count();
  return count;
}

void sort_points(Context& context, const PointGrid& grid) {
  const int64_t B = grid.planes.B;
  const int task_dim = task_dim_of_parts(grid);
  launch(context, "count_points", task_dim, parts_of(grid), count_points_kernel(), grid);
  launch<PointGrid>(context, "scan_cells", static_cast<int>(std::min<int64_t>(task_dim, B)), Evenly{B}, scan_cells,
                    grid);
  launch(context, "move_points", task_dim, parts_of(grid), move_points_kernel(), grid);
}

}  // namespace mluop
#endif
