#include "reference/points_in_boxes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "case/operators/support.h"

namespace mluop::cases::points_in_boxes {
namespace {

using Box = std::array<float, 7>;  // x, y, z, dx, dy, dz, yaw
using Point = std::array<float, 3>;
using reference::BoxRule;

// Boxes of a scene, and points in them, near their faces and elsewhere.
class Scene {
 public:
  explicit Scene(const Recipe& r) : random_(r.seed), has_specials_(r["specials"] != 0) {}

  Box box() {
    // Far from the origin, the center of the height is rounded.
    constexpr float kSpots[] = {0, 0, 0, 12, 1000};
    constexpr float kYaws[] = {0, 1.57079633F, -3.14159265F, 1e4F};
    const float spot = kSpots[random_.below(std::size(kSpots))];
    const int32_t turn = random_.below(8);
    return {spot + between(-4, 4),
            spot + between(-4, 4),
            spot + dyadic(4),
            dyadic(8) + 0.125F,
            dyadic(8) + 0.125F,
            dyadic(4) + 0.125F,
            turn < 4 ? kYaws[turn] : between(-4, 4)};
  }

  // One of 4 anywhere; each other coordinate is on a face, about the margin of 1e-5 from it, or between the faces.
  Point point_of(const Box& box) {
    constexpr float kOffsets[] = {0, 1e-7F, -1e-7F, 9e-6F, 1.1e-5F, -1.1e-5F};
    if (random_.below(4) == 0) return {between(-16, 16), between(-16, 16), between(-4, 8)};
    float local[3];
    for (size_t dim = 0; dim < 3; ++dim) {
      const bool at_face = random_.below(2) == 0;
      const float half = box[3 + dim] / 2;
      local[dim] = at_face ? half + kOffsets[random_.below(std::size(kOffsets))] : between(-half, half);
      if (random_.below(2) == 0) local[dim] = -local[dim];
    }
    // z is that of the center for one rule, of the bottom for the other.
    const float c = std::cos(box[6]), s = std::sin(box[6]), base = random_.below(2) == 0 ? 0 : box[5] / 2;
    return {box[0] + local[0] * c - local[1] * s, box[1] + local[0] * s + local[1] * c, box[2] + base + local[2]};
  }

  template <size_t kCount>
  void append(std::array<float, kCount> numbers, std::vector<float>& to) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0, -1};
    if (has_specials_ && random_.below(8) == 0) {
      numbers[static_cast<size_t>(random_.below(kCount))] = kValues[random_.below(std::size(kValues))];
    }
    to.insert(to.end(), numbers.begin(), numbers.end());
  }

  int32_t below(int64_t count) { return random_.below(count); }

 private:
  // A multiple of 1/8 below `limit`.
  float dyadic(int64_t limit) { return static_cast<float>(random_.below(limit * 8)) / 8; }
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(random_.below(1 << 20)) * 0x1p-20F;
  }

  Integers random_;
  bool has_specials_;
};

// The inputs of all three operators.
struct Inputs {
  explicit Inputs(const Recipe& r)
      : points(make_tensor("points", MLUOP_DTYPE_FLOAT, {r["b"], r["m"], 3})),
        boxes(make_tensor("boxes", MLUOP_DTYPE_FLOAT, {r["b"], r["t"], 7})) {
    if (r["uniform"] != 0) {
      points = with_uniform(points, r.seed);
      boxes = with_uniform(boxes, r.seed + 1);
      return;
    }
    checked_product({r["b"], r["m"], 3});
    checked_product({r["b"], r["t"], 7});
    Scene scene(r);
    std::vector<float> of_points, of_boxes;
    for (int64_t b = 0; b < r["b"]; ++b) {
      std::vector<Box> all;
      for (int64_t t = 0; t < r["t"]; ++t) scene.append(all.emplace_back(scene.box()), of_boxes);
      const Box elsewhere = scene.box();
      for (int64_t m = 0; m < r["m"]; ++m) {
        const auto t = static_cast<size_t>(scene.below(r["t"]));
        scene.append(scene.point_of(all.empty() ? elsewhere : all[t]), of_points);
      }
    }
    points = with_values(points, of_points);
    boxes = with_values(boxes, of_boxes);
  }

  Tensor points, boxes;
};

// The position of an input, by the order of the operator.
struct Order {
  size_t points, boxes;
};
constexpr Order kPointsFirst = {0, 1}, kBoxesFirst = {1, 0};

reference::PointsInBoxesSizes sizes_of(const Arguments& a, const Order& order) {
  return {a[order.points].dim(0), a[order.points].dim(1), a[order.boxes].dim(1)};
}

void expect_mlu(Arguments& a) {
  const auto sizes = sizes_of(a, kPointsFirst);
  // Without boxes, the call leaves the output unchanged.
  if (sizes.T == 0) return;
  reference::points_in_boxes_part(BoxRule::kMlu, sizes, a[0].as<float>(), a[1].as<float>(), a[2].as<int32_t>());
}

void fit_indices(Case& c, const Order& order) {
  const Dims& points = c.inputs[order.points].dims;
  set_shape(c.outputs[0], {points[0], points[1]});
}

// Tests of a point, but for those that the bounds of boxes save.
int64_t tests(const Arguments& a, const Order& order) {
  const auto [B, M, T] = sizes_of(a, order);
  return 4 * B * M * T;
}

Operator part_of_mlu() {
  Operator op;
  op.name = "points_in_boxes";
  op.function = "mluOpPointsInBoxes";
  op.tensors = {{"points", Role::kInput, {"batch", "point", "coordinate"}},
                {"boxes", Role::kInput, {"batch", "box", "field"}, {}, {1}},
                {"points_indices", Role::kKeptOutput, {"batch", "point"}}};
  op.run = [](const Arguments& a) { return call(mluOpPointsInBoxes, a.handle, a[0], a[1], a[2]); };
  op.expect = expect_mlu;
  op.work = [](const Arguments& a) { return each_once(a, 2, tests(a, kPointsFirst)); };
  op.make = [](const Recipe& r) {
    Case c = new_case("points_in_boxes", r);
    const Inputs inputs(r);
    c.inputs = {inputs.points, inputs.boxes};
    c.outputs = {make_tensor("points_indices", MLUOP_DTYPE_INT32)};
    fit_indices(c, kPointsFirst);
    return c;
  };
  op.fit = [](Case& c) { fit_indices(c, kPointsFirst); };
  op.reductions = {axis_reduction("points", {{0, 1}}, {{0, 1}}), axis_reduction("boxes", {{1, 1}}, {}, {0}),
                   axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}})};
  return op;
}

Operator part_of_mmcv() {
  Operator op;
  op.name = "points_in_boxes_part";
  op.function = "mluOpOmpPointsInBoxesPart";
  op.tensors = {{"boxes", Role::kInput, {"batch", "box", "field"}, kAnyLayout, {1}},
                {"points", Role::kInput, {"batch", "point", "coordinate"}, kAnyLayout},
                {"indices", Role::kOutput, {"batch", "point"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpPointsInBoxesPart, a.handle, a[0], a[1], a[2]); };
  op.expect = [](Arguments& a) {
    reference::points_in_boxes_part(BoxRule::kMmcv, sizes_of(a, kBoxesFirst), a[1].as<float>(), a[0].as<float>(),
                                    a[2].as<int32_t>());
  };
  op.make = [](const Recipe& r) {
    Case c = new_case("points_in_boxes_part", r);
    const Inputs inputs(r);
    c.inputs = {inputs.boxes, inputs.points};
    c.outputs = {make_tensor("indices", MLUOP_DTYPE_INT32)};
    fit_indices(c, kBoxesFirst);
    return c;
  };
  op.fit = [](Case& c) { fit_indices(c, kBoxesFirst); };
  return op;
}

void fit_all(Case& c) {
  const Dims &boxes = c.inputs[0].dims, &points = c.inputs[1].dims;
  set_shape(c.outputs[0], {points[0], points[1], boxes[1]});
}

Operator all_of_mmcv() {
  Operator op;
  op.name = "points_in_boxes_all";
  op.function = "mluOpOmpPointsInBoxesAll";
  op.tensors = {{"boxes", Role::kInput, {"batch", "box", "field"}, kAnyLayout},
                {"points", Role::kInput, {"batch", "point", "coordinate"}, kAnyLayout},
                {"is_inside", Role::kOutput, {"batch", "point", "box"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpPointsInBoxesAll, a.handle, a[0], a[1], a[2]); };
  op.expect = [](Arguments& a) {
    reference::points_in_boxes_all(BoxRule::kMmcv, sizes_of(a, kBoxesFirst), a[1].as<float>(), a[0].as<float>(),
                                   a[2].as<int32_t>());
  };
  op.make = [](const Recipe& r) {
    Case c = new_case("points_in_boxes_all", r);
    const Inputs inputs(r);
    c.inputs = {inputs.boxes, inputs.points};
    c.outputs = {make_tensor("is_inside", MLUOP_DTYPE_INT32)};
    fit_all(c);
    return c;
  };
  op.fit = fit_all;
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> ops = {part_of_mmcv(), all_of_mmcv()};
  for (Operator& op : ops) {
    op.work = [](const Arguments& a) { return each_once(a, 2, tests(a, kBoxesFirst)); };
    const Reduction boxes = op.name == "points_in_boxes_all" ? axis_reduction("boxes", {{0, 1}}, {{0, 2}})
                                                             : axis_reduction("boxes", {{0, 1}}, {}, {0});
    op.reductions = {boxes, axis_reduction("points", {{1, 1}}, {{0, 1}}),
                     axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}})};
  }
  ops.push_back(part_of_mlu());
  for (Operator& op : ops) {
    op.dtypes = {MLUOP_DTYPE_FLOAT};
    op.sizes = {{"b", 2, 1, 4},
                {"m", 150, 1, 1000},
                {"t", 12, 1, 150},
                {"specials", 0, 0, 1, false},
                {"uniform", 0, 0, 1, false}};
    op.parallel_sizes = {{{"b", 2}, {"m", 5000}, {"t", 70}}, {{"b", 2}, {"m", 3000}, {"t", 70}, {"uniform", 1}}};
  }
  return ops;
}

}  // namespace mluop::cases::points_in_boxes
