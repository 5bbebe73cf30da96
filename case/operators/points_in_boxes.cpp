#include "reference/points_in_boxes.h"

#include "case/operators/shared/box_scene.h"

namespace mluop::cases::points_in_boxes {
namespace {

using reference::BoxRule;

// The inputs of all three operators.
BoxScene make_inputs(const Recipe& r) {
  return make_box_scene(r, make_tensor("points", MLUOP_DTYPE_FLOAT, {r["b"], r["m"], 3}),
                        make_tensor("boxes", MLUOP_DTYPE_FLOAT, {r["b"], r["t"], 7}));
}

// The positions of the inputs in the order of the operator.
struct Order {
  size_t points, boxes;
};
constexpr Order kPointsFirst = {0, 1}, kBoxesFirst = {1, 0};

reference::PointsInBoxesSizes sizes_of(const Arguments& a, const Order& order) {
  return {a[order.points].dim(0), a[order.points].dim(1), a[order.boxes].dim(1)};
}

void expect_mlu(Arguments& a) {
  const auto sizes = sizes_of(a, kPointsFirst);
  // With no boxes, the call leaves the output unchanged.
  if (sizes.T == 0) return;
  reference::points_in_boxes_part(BoxRule::kMlu, sizes, a[0].as<float>(), a[1].as<float>(), a[2].as<int32_t>());
}

void fit_indices(Case& c, const Order& order) {
  const Dims& points = c.inputs[order.points].dims;
  set_shape(c.outputs[0], {points[0], points[1]});
}

// Number of tests of points, without the tests that bounds of boxes save.
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
    const BoxScene inputs = make_inputs(r);
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
    const BoxScene inputs = make_inputs(r);
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
    const BoxScene inputs = make_inputs(r);
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
    op.sizes = {{"b", 2, 1, 4}, {"m", 150, 1, 1000}, {"t", 12, 1, 150}, kSpecials, kUniform};
    op.parallel_sizes = {{{"b", 2}, {"m", 5000}, {"t", 70}}, {{"b", 2}, {"m", 3000}, {"t", 70}, {"uniform", 1}}};
  }
  return ops;
}

}  // namespace mluop::cases::points_in_boxes
