#include <algorithm>

#include "case/description.h"
#include "reference/voxel_pooling_backward.h"
#include "reference/voxel_pooling_forward.h"

namespace mluop::cases::voxel_pooling {
namespace {

reference::VoxelPoolingForwardSizes forward_sizes(const Arguments& a) {
  return {a.int32("batch_size"),  a.int32("num_points"),  a.int32("num_channels"),
          a.int32("num_voxel_x"), a.int32("num_voxel_y"), a.int32("num_voxel_z")};
}

mluOpStatus_t run_forward(const Arguments& a) {
  const reference::VoxelPoolingForwardSizes s = forward_sizes(a);
  return call(mluOpVoxelPoolingForward, a.handle, s.batch_size, s.num_points, s.num_channels, s.num_voxel_x,
              s.num_voxel_y, s.num_voxel_z, a[0], a[1], a[2], a[3]);
}

void expect_forward(Arguments& a) {
  with_element_type(a[1], [&]<class T>() {
    reference::voxel_pooling_forward(forward_sizes(a), a[0].as<int32_t>(), a[1].as<T>(), a[2].as<T>(),
                                     a[3].as<int32_t>());
  });
}

// Counts only feature rows of points in range.
Work forward_work(const Arguments& a) {
  const int64_t limits[] = {a.integer("num_voxel_x"), a.integer("num_voxel_y"), a.integer("num_voxel_z")};
  int64_t in_range = 0;
  for (int64_t point = 0; point < a[0].count() / 3; ++point) {
    bool inside = true;
    for (int64_t axis = 0; axis < 3; ++axis) {
      const int32_t cell = a[0].as<int32_t>()[point * 3 + axis];
      inside = inside && cell >= 0 && cell < limits[axis];
    }
    in_range += inside ? 1 : 0;
  }
  const int64_t used = in_range * a[1].dim(2);
  const auto element = static_cast<int64_t>(element_size(a[1].dtype));
  return {a[0].bytes() + used * element, a[2].bytes() + a[3].bytes(), used};
}

std::vector<Criterion> forward_criteria(const Operand& output, mluOpOmpAlgorithm_t algorithm) {
  if (!is_floating(output.dtype) || algorithm == MLUOP_OMP_ALGORITHM_NATIVE) return {{Metric::kBits, 0}};
  return sum_criteria(output, algorithm);
}

void fit_forward(Case& c) {
  const Dims geometry = c.inputs[0].dims, features = c.inputs[1].dims;
  Parameters& p = c.parameters;
  p.set("batch_size", geometry[0]);
  p.set("num_points", geometry[1]);
  p.set("num_channels", features[2]);
  set_shape(c.outputs[0], {geometry[0], p.integer("num_voxel_y"), p.integer("num_voxel_x"), features[2]});
  set_shape(c.outputs[1], geometry);
}

Case make_forward(const Recipe& r) {
  Case c = new_case("voxel_pooling_forward", r, {"num_voxel_x", "num_voxel_y", "num_voxel_z"});
  // A quarter of the points along each axis is out of range.
  const Dims points = {r["batch_size"], r["num_points"], 3};
  const int64_t count = checked_product({points[0], points[1], 3}, INT64_MAX);
  Integers random(r.seed);
  std::vector<int32_t> geometry;
  const bool is_inline = count <= r.max_inline || r["crowded"] != 0;
  if (is_inline) checked_product({count});
  for (int64_t point = 0; point < (is_inline ? count / 3 : 0); ++point) {
    const bool in_first = is_crowded(r, point);
    geometry.push_back(in_first ? 0 : random.below(r["num_voxel_x"] * 5 / 4 + 1) - 1);
    geometry.push_back(in_first ? 0 : random.below(r["num_voxel_y"] * 5 / 4 + 1) - 1);
    geometry.push_back(random.below(r["num_voxel_z"]));
  }
  const Tensor geom_xyz = make_tensor("geom_xyz", MLUOP_DTYPE_INT32, points);
  const auto large = static_cast<double>(std::max(r["num_voxel_x"], r["num_voxel_y"]));
  c.inputs = {
      is_inline ? with_values(geom_xyz, geometry) : with_uniform(geom_xyz, r.seed, -1, large),
      with_uniform(make_tensor("input_features", r.dtype, {points[0], points[1], r["num_channels"]}), r.seed + 1)};
  c.outputs = {make_tensor("output_features", r.dtype), make_tensor("pos_memo", MLUOP_DTYPE_INT32)};
  fit_forward(c);
  return c;
}

void expect_backward(Arguments& a) {
  const reference::VoxelPoolingBackwardSizes sizes{a[2].dim(0), a[2].dim(1), a[2].dim(2), a[0].dim(2),
                                                   a[0].dim(1)};
  with_bits_type(a[0], [&]<class T>() {
    reference::voxel_pooling_backward(sizes, a[0].as<T>(), a[1].as<int32_t>(), a[2].as<T>());
  });
}

// Counts only rows of cells with points.
Work backward_work(const Arguments& a) {
  const int64_t Y = a[0].dim(1), X = a[0].dim(2), C = a[0].dim(3);
  std::vector<bool> has_points(static_cast<size_t>(a[0].dim(0) * Y * X));
  for (int64_t point = 0; point < a[1].count() / 3; ++point) {
    const int32_t* memo = a[1].as<int32_t>() + point * 3;
    if (memo[0] >= 0) has_points[static_cast<size_t>((memo[0] * Y + memo[1]) * X + memo[2])] = true;
  }
  const auto cells = static_cast<int64_t>(std::count(has_points.begin(), has_points.end(), true));
  const auto element = static_cast<int64_t>(element_size(a[0].dtype));
  return {cells * C * element + a[1].bytes(), a[2].bytes(), 0};
}

void fit_backward(Case& c) {
  set_shape(c.outputs[0], {c.inputs[1].dims[0], c.inputs[1].dims[1], c.inputs[0].dims[3]});
}

Case make_backward(const Recipe& r) {
  Case c = new_case("voxel_pooling_backward", r);
  Integers random(r.seed);
  const Dims memo = {r["batch_size"], r["num_points"], 3};
  const bool has_cells = r["num_voxel_y"] > 0 && r["num_voxel_x"] > 0;
  std::vector<int32_t> values;
  for (int64_t point = 0; point < checked_product({memo[0], memo[1]}); ++point) {
    const bool in_range = random.below(4) > 0 && has_cells;
    values.push_back(in_range ? random.below(memo[0]) : -1);
    values.push_back(in_range ? random.below(r["num_voxel_y"]) : -1);
    values.push_back(in_range ? random.below(r["num_voxel_x"]) : -1);
  }
  c.inputs = {with_uniform(make_tensor("grad_output_features", r.dtype,
                                       {memo[0], r["num_voxel_y"], r["num_voxel_x"], r["num_channels"]}),
                           r.seed + 1),
              with_values(make_tensor("pos_memo", MLUOP_DTYPE_INT32, memo), values)};
  c.outputs = {make_tensor("grad_input_features", r.dtype)};
  fit_backward(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator forward;
  forward.name = "voxel_pooling_forward";
  forward.refuses_200_series = true;
  forward.function = "mluOpVoxelPoolingForward";
  forward.tensors = {{"geom_xyz", Role::kInput, {"batch", "point", "coordinate"}},
                     {"input_features", Role::kInput, {"batch", "point", "channel"}},
                     {"output_features", Role::kOutput, {"batch", "y", "x", "channel"}},
                     {"pos_memo", Role::kOutput, {"batch", "point", "coordinate"}}};
  forward.parameter_messages = {"voxel_pooling_forward_param"};
  forward.run = run_forward;
  forward.expect = expect_forward;
  forward.work = forward_work;
  forward.criteria = forward_criteria;
  forward.has_device_algorithm = true;
  forward.atomic_sums = true;
  forward.sizes = {{"batch_size", 2, 1, 4},
                   {"num_points", 100, 1, 5000},
                   {"num_channels", 8, 1, 100},
                   {"num_voxel_x", 8, 1, 80},
                   {"num_voxel_y", 8, 1, 80},
                   {"num_voxel_z", 1, 1, 4, false},
                   kCrowded};
  forward.parallel_sizes = {{{"num_points", 3000}, {"num_channels", 19}, {"num_voxel_x", 9}}};
  forward.make = make_forward;
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("points", {{0, 1}, {1, 1}}, {{1, 1}}),
                        axis_reduction("channels", {{1, 2}}, {{0, 3}}),
                        axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}})};
  Operator backward;
  backward.name = "voxel_pooling_backward";
  backward.refuses_200_series = true;
  backward.function = "mluOpOmpVoxelPoolingBackward";
  backward.tensors = {{"grad_output_features", Role::kInput, {"batch", "y", "x", "channel"}, {}, {1, 2}},
                      {"pos_memo", Role::kInput, {"batch", "point", "coordinate"}},
                      {"grad_input_features", Role::kOutput, {"batch", "point", "channel"}}};
  backward.run = [](const Arguments& a) { return call(mluOpOmpVoxelPoolingBackward, a.handle, a[0], a[1], a[2]); };
  backward.expect = expect_backward;
  backward.work = backward_work;
  backward.sizes = {{"batch_size", 2, 1, 4},
                    {"num_points", 100, 1, 600},
                    {"num_channels", 8, 1, 100},
                    {"num_voxel_x", 8},
                    {"num_voxel_y", 8}};
  backward.parallel_sizes = {{{"num_points", 3000}, {"num_channels", 19}, {"num_voxel_x", 9}}};
  backward.make = make_backward;
  backward.copies = true;
  backward.fit = fit_backward;
  backward.reductions = {axis_reduction("points", {{1, 1}}, {{0, 1}}),
                         axis_reduction("channels", {{0, 3}}, {{0, 2}})};
  return {forward, backward};
}

}  // namespace mluop::cases::voxel_pooling
