#include "reference/knn.h"

#include "case/description.h"

namespace mluop::cases::knn {
namespace {

void fit(Case& c) {
  const Dims &xyz = c.inputs[0].dims, &new_xyz = c.inputs[1].dims;
  for (Tensor& output : c.outputs) set_shape(output, {xyz[0], new_xyz[1], c.parameters.integer("k")});
}

// Points on a grid, so that few distances are distinct.
Tensor with_grid_points(const Tensor& tensor, int32_t seed) {
  Integers random(seed);
  std::vector<float> values(static_cast<size_t>(checked_product({tensor.dims[0], tensor.dims[1], 3})));
  for (float& value : values) value = static_cast<float>(random.below(9)) / 4 - 1;
  return with_values(tensor, values);
}

Tensor with_points(const Recipe& r, const Tensor& tensor, int32_t seed) {
  return r["ties"] != 0 ? with_grid_points(tensor, seed) : with_uniform(tensor, seed);
}

Case make(const Recipe& r) {
  Case c = new_case("knn", r, {"k"});
  c.inputs = {with_points(r, make_tensor("xyz", MLUOP_DTYPE_FLOAT, {r["b"], r["n"], 3}), r.seed),
              with_points(r, make_tensor("new_xyz", MLUOP_DTYPE_FLOAT, {r["b"], r["m"], 3}), r.seed + 1)};
  c.outputs = {make_tensor("idx", MLUOP_DTYPE_INT32), make_tensor("dist2", MLUOP_DTYPE_FLOAT)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "knn";
  op.function = "mluOpOmpKnn";
  op.query_function = "mluOpOmpGetKnnWorkspaceSize";
  op.tensors = {{"xyz", Role::kInput, {"batch", "point", "coordinate"}, kAnyLayout, {1}},
                {"new_xyz", Role::kInput, {"batch", "center", "coordinate"}, kAnyLayout},
                {"idx", Role::kOutput, {"batch", "center", "neighbor"}, kAnyLayout},
                {"dist2", Role::kOutput, {"batch", "center", "neighbor"}, kAnyLayout}};
  op.parameter_messages = {"knn_param"};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetKnnWorkspaceSize(a.handle, a.int32("k"), a[0].desc, a[1].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpKnn, a.handle, a.int32("k"), a[0], a[1], a.workspace, a.workspace_size, a[2], a[3]);
  };
  op.expect = [](Arguments& a) {
    reference::knn({a[0].dim(0), a[1].dim(1), a[0].dim(1), a.integer("k")}, a[0].as<float>(), a[1].as<float>(),
                   a[2].as<int32_t>(), a[3].as<float>());
  };
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a[1].dim(0) * a[1].dim(1) * a[0].dim(1)); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {
      {"b", 2, 1, 4}, {"m", 40, 1, 400}, {"n", 300, 1, 5000}, {"k", 16, 1, 100, false}, {"ties", 0, 0, 1, false}};
  op.multiplies = true;
  op.parallel_sizes = {{{"b", 2}, {"m", 150}, {"n", 5000}, {"k", 20}},
                       {{"b", 2}, {"m", 300}, {"n", 2000}, {"k", 9}},
                       {{"b", 2}, {"m", 150}, {"n", 1200}, {"k", 33}, {"ties", 1}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("points", {{0, 1}}, {}, {0}),
                   axis_reduction("centers", {{1, 1}}, {{0, 1}, {1, 1}}),
                   axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}})};
  return {op};
}

}  // namespace mluop::cases::knn
