#include "reference/voxelization.h"

#include "case/description.h"

namespace mluop::cases::voxelization {
namespace {

mluOpStatus_t query(const Arguments& a, size_t* bytes) {
  return mluOpGetVoxelizationWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a.int32("max_points"),
                                           a.int32("max_voxels"), a.int32("ndim"), a.integer("deterministic") != 0,
                                           a[3].desc, a[4].desc, a[5].desc, a[6].desc, bytes);
}

mluOpStatus_t run(const Arguments& a) {
  return call(mluOpVoxelization, a.handle, a[0], a[1], a[2], a.int32("max_points"), a.int32("max_voxels"),
              a.int32("ndim"), a.integer("deterministic") != 0, a.workspace, a.workspace_size, a[3], a[4], a[5],
              a[6]);
}

void expect(Arguments& a) {
  reference::VoxelizationProblem problem{};
  problem.N = a[0].dim(0);
  problem.F = a[0].dim(1);
  problem.max_points = a.integer("max_points");
  problem.max_voxels = a.integer("max_voxels");
  std::copy_n(a[1].as<float>(), 3, problem.voxel_size);
  std::copy_n(a[2].as<float>(), 6, problem.coors_range);
  reference::voxelization(problem, a[0].as<float>(), a[3].as<float>(), a[4].as<int32_t>(), a[5].as<int32_t>(),
                          a[6].as<int32_t>());
}

void fit(Case& c) {
  const int64_t voxels = c.parameters.integer("max_voxels");
  set_shape(c.outputs[0], {voxels, c.parameters.integer("max_points"), c.inputs[0].dims[1]});
  set_shape(c.outputs[1], {voxels, 3});
  set_shape(c.outputs[2], {voxels});
  set_shape(c.outputs[3], {1});
}

Case make(const Recipe& r) {
  Case c = new_case("voxelization", r, {"max_points", "max_voxels"});
  c.parameters.set("ndim", 3);
  c.parameters.set("deterministic", 1);
  if (r["cells"] == 0) fail({}, "cells is 0, expected at least 1");
  // The points fill a cube of side 2; `cells` cells along each axis cover most of it, by default with side 1/4.
  constexpr float kLower = -0.9F, kUpper = 0.85F;
  const auto side = static_cast<float>(1.75 / static_cast<double>(r["cells"]));
  c.inputs = {with_uniform(make_tensor("points", MLUOP_DTYPE_FLOAT, {r["n"], r["f"]}), r.seed),
              with_values<float>(make_tensor("voxel_size", MLUOP_DTYPE_FLOAT, {3}), {side, side, side}),
              with_values<float>(make_tensor("coors_range", MLUOP_DTYPE_FLOAT, {6}),
                                 {kLower, kLower, kLower, kUpper, kUpper, kUpper})};
  c.outputs = {make_tensor("voxels", MLUOP_DTYPE_FLOAT), make_tensor("coors", MLUOP_DTYPE_INT32),
               make_tensor("num_points_per_voxel", MLUOP_DTYPE_INT32),
               make_tensor("voxel_num", MLUOP_DTYPE_INT32)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "voxelization";
  op.refuses_200_series = true;
  op.function = "mluOpVoxelization";
  op.query_function = "mluOpGetVoxelizationWorkspaceSize";
  op.tensors = {
      {"points", Role::kInput, {"point", "channel"}},    {"voxel_size", Role::kInput, {"axis"}},
      {"coors_range", Role::kInput, {"axis"}},           {"voxels", Role::kOutput, {"voxel", "point", "channel"}},
      {"coors", Role::kOutput, {"voxel", "coordinate"}}, {"num_points_per_voxel", Role::kOutput, {"voxel"}},
      {"voxel_num", Role::kOutput, {"element"}}};
  for (TensorRule& tensor : op.tensors) tensor.other_layouts = kAnyLayout;
  op.tensors[0].free_dims = {0};
  op.parameter_messages = {"voxelization_param"};
  op.query = query;
  op.run = run;
  op.expect = expect;
  op.copies = true;
  op.sizes = {{"n", 200, 1, 6000},
              {"f", 5, 3, 10},
              {"max_points", 4, 1, 10},
              {"max_voxels", 60, 1, 300},
              {"cells", 7, 1, 1 << 20, false}};
  op.parallel_sizes = {{{"n", 20000}, {"max_voxels", 300}, {"max_points", 10}}};
  // Three subtractions and divisions a point.
  op.work = [](const Arguments& a) { return each_once(a, 3, 6 * a[0].dim(0)); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("points", {{0, 0}})};
  return {op};
}

}  // namespace mluop::cases::voxelization
