// mluOpOmpMinAreaPolygons in one file: rules, kernel, launch, entry.
// Start with the entry at the end, then smallest_rectangle(); primitives/geometry/point_set.h has the hull.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checks.h"
#include "mlu_op_omp.h"
#include "primitives/geometry/point_set.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::min_area_polygons {
namespace {

struct Args {
  int64_t N;
  const float* pointsets;  // [N, 18]
  float* polygons;         // [N, 8]
};

// A rectangle with two sides along `along`, a unit vector, that contains a hull.
struct Rectangle {
  Rectangle(const PointSet& set, const Point& direction) : along(direction) {
    min_u = min_v = std::numeric_limits<double>::infinity();
    max_u = max_v = -min_u;
    for (int i = 0; i < set.hull.count; ++i) {
      const Point p = set.hull[i] - set.hull[0];
      const double u = along.x * p.x + along.y * p.y, v = along.x * p.y - along.y * p.x;
      min_u = std::min(min_u, u);
      max_u = std::max(max_u, u);
      min_v = std::min(min_v, v);
      max_v = std::max(max_v, v);
    }
  }

  double area() const { return (max_u - min_u) * (max_v - min_v); }
  Point corner(double u, double v) const { return {along.x * u - along.y * v, along.y * u + along.x * v}; }

  Point along;
  double min_u, max_u, min_v, max_v;
};

// The rectangle along the first side of the hull whose rectangle is smallest; a later one replaces an earlier
// one only if it is smaller by more than rounding errors.
Rectangle smallest_rectangle(const PointSet& set) {
  constexpr double kMargin = 1e-6;  // relative
  Rectangle smallest(set, {1, 0});
  double area = std::numeric_limits<double>::infinity();
  for (int i = 0; i < set.hull.count && set.hull.count > 1; ++i) {
    Point side = set.hull.after(i) - set.hull[i];
    const double length = std::hypot(side.x, side.y);
    side = {side.x / length, side.y / length};
    // The direction in the first quadrant: all four sides of a rectangle have one.
    while (!(side.x > 0 && side.y >= 0)) side = {side.y, -side.x};
    const Rectangle rectangle(set, side);
    if (!(rectangle.area() < area * (1 - kMargin))) continue;
    smallest = rectangle;
    area = rectangle.area();
  }
  return smallest;
}

// Work items: point sets.
void write_rectangles(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t n = begin; n < end; ++n) {
    const PointSet set(args.pointsets + n * PointSet::kColumns);
    float* const to = args.polygons + n * 8;
    if (!set.is_finite) {
      std::fill_n(to, 8, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const Rectangle r = smallest_rectangle(set);
    const Point corners[] = {r.corner(r.max_u, r.min_v), r.corner(r.min_u, r.min_v), r.corner(r.min_u, r.max_v),
                             r.corner(r.max_u, r.max_v)};
    for (size_t i = 0; i < 4; ++i) {
      to[2 * i] = static_cast<float>(set.hull[0].x + corners[i].x);
      to[2 * i + 1] = static_cast<float>(set.hull[0].y + corners[i].y);
    }
  }
}

}  // namespace
}  // namespace mluop::min_area_polygons

mluOpStatus_t MLUOP_WIN_API mluOpOmpMinAreaPolygons(mluOpHandle_t handle,
                                                    const mluOpTensorDescriptor_t pointsets_desc,
                                                    const void* pointsets,
                                                    const mluOpTensorDescriptor_t polygons_desc, void* polygons) {
  using namespace mluop;
  using namespace mluop::min_area_polygons;
  return run_operator("mluOpOmpMinAreaPolygons", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
    const int64_t N = dim_of(pointsets_desc, 0);
    call.input("pointsets", pointsets_desc, pointsets, kFloat, kAnyLayout, {kAny, PointSet::kColumns});
    call.output("polygons", polygons_desc, polygons, kFloat, kAnyLayout, {N, 8});
    if (N == 0) call.reads_nothing();
    call.check_pointers();
    call.check_tensors();
    if (N == 0) return;
    constexpr int64_t kSetBytes = 4096;  // cost of a set, in bytes of memory traffic
    call.log_detail("native");
    call.context().reserve(0);
    launch(call.context(), "rectangles", choose_task_dim(N, N * kSetBytes), Evenly{N}, write_rectangles,
           Args{N, static_cast<const float*>(pointsets), static_cast<float*>(polygons)});
  });
}
