#include "reference/point_sets.h"

#include "case/operators/shared/quads.h"

namespace mluop::cases::point_sets {
namespace {

constexpr int64_t kColumns = 18, kPoints = 9;

// Whether one in 8 sets has a number that is not finite, equal points, or points on a line; one in 8 polygons has
// a number that is not finite, or corners on a line.
const SizeRule kSpecials = {"specials", 0, 0, 1, false};

struct PointSet {
  float x, y, size;  // the center, and how far the points are from it
  std::array<float, kColumns> numbers;
};

// Sets and polygons with centers in a square whose corner is the origin. Hulls and polygons share no corner.
class Scene {
 public:
  Scene(const Recipe& r, float side)
      : quads_(r.seed, 0, r["specials"] != 0), side_(side), has_specials_(r["specials"] != 0) {}

  // Nine points: in a disk; in a turned rectangle, with its corners; at three to five places of a disk.
  PointSet make_set() {
    PointSet set{coordinate(), coordinate(), std::exp2(quads_.uniform(-2, 2)), {}};
    if (has_specials_ && quads_.below(8) == 0) return special(set);
    const int32_t kind = quads_.below(4);
    const float turn = quads_.uniform(0, 2 * kPi), ratio = quads_.uniform(0.3F, 1);
    const int64_t places = 3 + quads_.below(3);
    for (int64_t i = 0; i < kPoints; ++i) {
      if (kind == 0) {
        const float u = i < 4 ? 1 - 2 * static_cast<float>(i / 2) : quads_.uniform(-0.9F, 0.9F);
        const float v = i < 4 ? 1 - 2 * static_cast<float>((i + 1) / 2 % 2) : quads_.uniform(-0.9F, 0.9F);
        place(set, i, std::cos(turn) * u - std::sin(turn) * ratio * v,
              std::sin(turn) * u + std::cos(turn) * ratio * v);
      } else if (kind == 1 && i >= places) {
        std::copy_n(set.numbers.begin() + 2 * quads_.below(places), 2, set.numbers.begin() + 2 * i);
      } else {
        const float radius = std::sqrt(quads_.uniform(0, 1)), angle = quads_.uniform(0, 2 * kPi);
        place(set, i, radius * std::cos(angle), radius * std::sin(angle));
      }
    }
    return set;
  }

  // Two in three polygons are near the set; the others are anywhere.
  Quad make_polygon(const PointSet& set) {
    const bool is_near = quads_.below(3) > 0;
    const float reach = 0.7F * set.size;
    const float x = is_near ? set.x + quads_.uniform(-reach, reach) : coordinate();
    const float y = is_near ? set.y + quads_.uniform(-reach, reach) : coordinate();
    return quads_.around(x, y, is_near ? set.size * std::exp2(quads_.uniform(-1, 1)) : 1);
  }

  void append(const Quad& polygon, std::vector<float>& to) { quads_.append(polygon, to); }

 private:
  static constexpr auto kPi = std::numbers::pi_v<float>;

  float coordinate() { return quads_.uniform(0, side_); }

  static void place(PointSet& set, int64_t i, float u, float v) {
    set.numbers[2 * i] = set.x + set.size * u;
    set.numbers[2 * i + 1] = set.y + set.size * v;
  }

  PointSet special(PointSet set) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
    const int32_t kind = quads_.below(5);
    // The points are exactly on a line. No coordinate is 0: if a test sets one to 0, no side of the hull is on a
    // line through the origin, where the derivatives of convex_giou depend on rounding.
    const auto rounded = [](float number) { return (std::floor(number * 64) + 0.5F) / 64; };
    const auto step = [&] { return static_cast<float>(quads_.below(33) - 16) / 64; };
    const float x = rounded(set.x), y = rounded(set.y), along_x = kind == 4 ? 0 : step(),
                along_y = kind == 4 ? 0 : step();
    for (int64_t i = 0; i < kPoints; ++i) {
      const auto steps = static_cast<float>(quads_.below(16));
      set.numbers[2 * i] = x + steps * along_x;
      set.numbers[2 * i + 1] = y + steps * along_y;
    }
    if (kind < 3) set.numbers[quads_.below(kColumns)] = kValues[kind];
    return set;
  }

  Quads quads_;
  float side_;
  bool has_specials_;
};

Tensor make_sets(const std::vector<PointSet>& sets) {
  std::vector<float> values;
  for (const PointSet& set : sets) values.insert(values.end(), set.numbers.begin(), set.numbers.end());
  return with_values(make_tensor("pointsets", MLUOP_DTYPE_FLOAT, {static_cast<int64_t>(sets.size()), kColumns}),
                     values);
}

Tensor make_polygons(const std::vector<float>& values) {
  const auto count = static_cast<int64_t>(values.size()) / kQuadColumns;
  return with_values(make_tensor("polygons", MLUOP_DTYPE_FLOAT, {count, kQuadColumns}), values);
}

float side_of(int64_t count) { return std::sqrt(static_cast<float>(count)); }

void expect_iou(Arguments& a) {
  reference::convex_iou(a[0].dim(0), a[1].dim(0), a[0].as<float>(), a[1].as<float>(), a[2].as<float>());
}

void fit_iou(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[1].dims[0]}); }

Case make_iou(const Recipe& r) {
  const int64_t N = r["n"], K = r["k"];
  checked_product({N + K, kColumns});
  Case c = new_case("convex_iou", r);
  Scene scene(r, side_of(N + K));
  std::vector<PointSet> sets;
  std::vector<float> polygons;
  for (int64_t n = 0; n < N; ++n) sets.push_back(scene.make_set());
  for (int64_t k = 0; k < K; ++k) {
    scene.append(scene.make_polygon(N == 0 ? scene.make_set() : sets[static_cast<size_t>(k % N)]), polygons);
  }
  c.inputs = {make_sets(sets), make_polygons(polygons)};
  c.outputs = {make_tensor("ious", MLUOP_DTYPE_FLOAT)};
  fit_iou(c);
  return c;
}

Operator described_iou() {
  Operator op;
  op.name = "convex_iou";
  op.function = "mluOpOmpConvexIou";
  op.tensors = {{"pointsets", Role::kInput, {"set", "number"}, kAnyLayout, {1}},
                {"polygons", Role::kInput, {"polygon", "number"}, kAnyLayout, {1}},
                {"ious", Role::kOutput, {"set", "polygon"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpConvexIou, a.handle, a[0], a[1], a[2]); };
  op.expect = expect_iou;
  // Four comparisons detect that a hull and a polygon are apart, as most are.
  op.work = [](const Arguments& a) { return each_once(a, 2, 4 * a[2].count()); };
  op.sizes = {{"n", 40, 1, 300}, {"k", 30, 1, 300}, kSpecials};
  op.parallel_sizes = {{{"n", 300}, {"k", 400}}};
  // Points of a feature pyramid on 1024 x 1024 pixels.
  op.networks = {{"fpn 21824x128", {{"n", 21824}, {"k", 128}}}};
  op.make = make_iou;
  op.fit = fit_iou;
  op.reductions = {axis_reduction("point sets", {{0, 0}}, {{0, 0}}),
                   axis_reduction("polygons", {{1, 0}}, {{0, 1}})};
  return op;
}

void expect_giou(Arguments& a) {
  reference::convex_giou(a[0].dim(0), a[0].as<float>(), a[1].as<float>(), a[2].as<float>());
}

void fit_giou(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], kColumns + 1}); }

Case make_giou(const Recipe& r) {
  // The intersection is a sum of triangles with the origin: the side limits the error relative to the sets.
  constexpr float kSide = 8;
  const int64_t N = r["n"];
  checked_product({N, kColumns + kQuadColumns});
  Case c = new_case("convex_giou", r);
  Scene scene(r, kSide);
  std::vector<PointSet> sets;
  std::vector<float> polygons;
  for (int64_t n = 0; n < N; ++n) {
    sets.push_back(scene.make_set());
    scene.append(scene.make_polygon(sets.back()), polygons);
  }
  c.inputs = {make_sets(sets), make_polygons(polygons)};
  c.outputs = {make_tensor("output", MLUOP_DTYPE_FLOAT)};
  fit_giou(c);
  return c;
}

Operator described_giou() {
  Operator op;
  op.name = "convex_giou";
  op.function = "mluOpOmpConvexGiou";
  op.tensors = {{"pointsets", Role::kInput, {"set", "number"}, kAnyLayout},
                {"polygons", Role::kInput, {"polygon", "number"}, kAnyLayout},
                {"output", Role::kOutput, {"pair", "number"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpConvexGiou, a.handle, a[0], a[1], a[2]); };
  op.expect = expect_giou;
  // A hull of 6 sides and a polygon of 4: for each pair of sides, three lines clip a triangle.
  op.work = [](const Arguments& a) { return each_once(a, 2, 24 * 100 * a[0].dim(0)); };
  op.sizes = {{"n", 40, 1, 1000}, kSpecials};
  op.parallel_sizes = {{{"n", 2000}}, {{"n", 500}, {"specials", 1}}};
  op.networks = {{"positives 1000", {{"n", 1000}}}};
  op.make = make_giou;
  op.fit = fit_giou;
  op.reductions = {axis_reduction("pairs", {{0, 0}, {1, 0}}, {{0, 0}})};
  return op;
}

void expect_rectangles(Arguments& a) {
  reference::min_area_polygons(a[0].dim(0), a[0].as<float>(), a[1].as<float>());
}

void fit_rectangles(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], kQuadColumns}); }

Case make_rectangles(const Recipe& r) {
  const int64_t N = r["n"];
  checked_product({N, kColumns});
  Case c = new_case("min_area_polygons", r);
  Scene scene(r, side_of(N));
  std::vector<PointSet> sets;
  for (int64_t n = 0; n < N; ++n) sets.push_back(scene.make_set());
  c.inputs = {make_sets(sets)};
  c.outputs = {make_tensor("polygons", MLUOP_DTYPE_FLOAT)};
  fit_rectangles(c);
  return c;
}

Operator described_rectangles() {
  Operator op;
  op.name = "min_area_polygons";
  op.function = "mluOpOmpMinAreaPolygons";
  op.tensors = {{"pointsets", Role::kInput, {"set", "number"}, kAnyLayout},
                {"polygons", Role::kOutput, {"set", "number"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpMinAreaPolygons, a.handle, a[0], a[1]); };
  op.expect = expect_rectangles;
  // A hull of 6 corners: for each side, 10 operations for each corner.
  op.work = [](const Arguments& a) { return each_once(a, 1, 6 * 6 * 10 * a[0].dim(0)); };
  op.sizes = {{"n", 100, 1, 1000}, kSpecials};
  op.parallel_sizes = {{{"n", 5000}}, {{"n", 2000}, {"specials", 1}}};
  // The points of a picture: at most 2000 for each level of a feature pyramid.
  op.networks = {{"fpn 5344", {{"n", 5344}}}};
  op.make = make_rectangles;
  op.fit = fit_rectangles;
  op.reductions = {axis_reduction("point sets", {{0, 0}}, {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> ops = {described_iou(), described_giou(), described_rectangles()};
  for (Operator& op : ops) {
    op.dtypes = {MLUOP_DTYPE_FLOAT};
    op.multiplies = true;
  }
  ops[0].criteria = ops[1].criteria = [](const Operand&, mluOpOmpAlgorithm_t) {
    return std::vector<Criterion>{{Metric::kDiff3, 1e-6}};
  };
  // Relative to the rectangle: a coordinate may be near 0.
  ops[2].criteria = [](const Operand&, mluOpOmpAlgorithm_t) { return mean_errors(1e-6); };
  return ops;
}

}  // namespace mluop::cases::point_sets
