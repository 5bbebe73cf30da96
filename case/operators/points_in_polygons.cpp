#include "case/operators/shared/quads.h"

namespace mluop::cases::points_in_polygons {
namespace {

// Whether all numbers are random.
const SizeRule kUniform = {"uniform", 0, 0, 1, false};

// The definition, with each operation rounded to fp32; no product is added, so that no compiler fuses them.
bool contains(const float* polygon, float x, float y) {
  bool is_odd = false;
  for (int i = 0; i < 4; ++i) {
    const float *const from = polygon + 2 * i, *const to = polygon + 2 * ((i + 3) % 4);
    if ((y > from[1] && y > to[1]) || (y < from[1] && y < to[1])) continue;
    if ((from[0] == x && from[1] == y) || (to[0] == x && to[1] == y)) break;
    const bool crosses = (from[1] < y && to[1] >= y) || (from[1] >= y && to[1] < y);
    if (!crosses) continue;
    const float at = from[0] + (y - from[1]) * (to[0] - from[0]) / (to[1] - from[1]);
    if (at == x) break;
    if (at > x) is_odd = !is_odd;
  }
  return is_odd;
}

void expect(Arguments& a) {
  float* output = a[2].as<float>();
  for (int64_t b = 0; b < a[0].dim(0); ++b) {
    const float* const point = a[0].as<float>() + b * 2;
    for (int64_t m = 0; m < a[1].dim(0); ++m) {
      *output++ = contains(a[1].as<float>() + m * kQuadColumns, point[0], point[1]) ? 1.0F : 0.0F;
    }
  }
}

void fit(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[1].dims[0]}); }

Case make(const Recipe& r) {
  const int64_t B = r["b"], M = r["m"];
  checked_product({B + M, kQuadColumns});
  Case c = new_case("points_in_polygons", r);
  Tensor points = make_tensor("points", MLUOP_DTYPE_FLOAT, {B, 2});
  Tensor polygons = make_tensor("polygons", MLUOP_DTYPE_FLOAT, {M, kQuadColumns});
  if (r["uniform"] != 0) {
    points = with_uniform(points, r.seed);
    polygons = with_uniform(polygons, r.seed + 1);
  } else {
    Quads quads(r.seed, M, false);
    // Every other polygon and most points are on a grid of 1/4: points are corners, on sides and in rows of
    // corners.
    const auto on_grid = [](float number) { return std::round(4 * number) / 4; };
    std::vector<float> of_points, of_polygons;
    for (int64_t m = 0; m < M; ++m) {
      Quad quad = quads.anywhere();
      if (m % 2 == 0) std::transform(quad.begin(), quad.end(), quad.begin(), on_grid);
      quads.append(quad, of_polygons);
    }
    const float side = std::sqrt(static_cast<float>(M));
    for (int64_t i = 0; i < 2 * B; ++i) {
      const float number = quads.uniform(-1, side + 1);
      of_points.push_back(quads.below(8) == 0 ? number : on_grid(number));
    }
    points = with_values(points, of_points);
    polygons = with_values(polygons, of_polygons);
  }
  c.inputs = {points, polygons};
  c.outputs = {make_tensor("output", MLUOP_DTYPE_FLOAT)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "points_in_polygons";
  op.function = "mluOpOmpPointsInPolygons";
  op.tensors = {{"points", Role::kInput, {"point", "coordinate"}, kAnyLayout},
                {"polygons", Role::kInput, {"polygon", "number"}, kAnyLayout},
                {"output", Role::kOutput, {"point", "polygon"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpPointsInPolygons, a.handle, a[0], a[1], a[2]); };
  op.expect = expect;
  // Four sides, each with 10 comparisons and 6 operations on numbers.
  op.work = [](const Arguments& a) { return each_once(a, 2, 64 * a[2].count()); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"b", 150, 1, 500}, {"m", 12, 1, 1000}, kUniform};
  op.multiplies = true;
  op.parallel_sizes = {{{"b", 100}, {"m", 1100}}, {{"b", 5000}, {"m", 9}, {"uniform", 1}}};
  // Points of a feature pyramid on 1024 x 1024 pixels.
  op.networks = {{"fpn 21824x128", {{"b", 21824}, {"m", 128}}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("points", {{0, 0}}, {{0, 0}}), axis_reduction("polygons", {{1, 0}}, {{0, 1}})};
  return {op};
}

}  // namespace mluop::cases::points_in_polygons
