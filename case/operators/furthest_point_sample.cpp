#include "reference/furthest_point_sample.h"

#include <algorithm>

#include "case/description.h"

namespace mluop::cases::furthest_point_sample {
namespace {

reference::FurthestPointSampleSizes sizes_of(const Arguments& a) {
  return {a[0].dim(0), a[0].dim(1), a[1].dim(1)};
}

// The number of samples comes from the output.
void fit(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], c.outputs[0].dims[1]}); }

Case make(const char* op, const Recipe& r, const char* input, int64_t columns) {
  Case c = new_case(op, r);
  c.inputs = {with_uniform(make_tensor(input, MLUOP_DTYPE_FLOAT, {r["b"], r["n"], columns}), r.seed)};
  c.outputs = {make_tensor("idx", MLUOP_DTYPE_INT32, {r["b"], r["m"]})};
  return c;
}

Reduction samples() {
  return {
      "samples",
      [](const Case& c) { return c.outputs[0].dims[1]; },
      [](Case& c, const std::vector<int64_t>& kept) { c.outputs[0].dims[1] = static_cast<int64_t>(kept.size()); },
      {{0, 1}}};
}

Operator furthest_point_sample() {
  Operator op;
  op.name = "furthest_point_sample";
  op.function = "mluOpOmpFurthestPointSample";
  op.query_function = "mluOpOmpGetFurthestPointSampleWorkspaceSize";
  op.tensors = {{"points", Role::kInput, {"batch", "point", "coordinate"}, kAnyLayout, {1}},
                {"idx", Role::kOutput, {"batch", "sample"}, kAnyLayout, {1}}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetFurthestPointSampleWorkspaceSize(a.handle, a[0].desc, a[1].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpFurthestPointSample, a.handle, a[0], a.workspace, a.workspace_size, a[1]);
  };
  op.expect = [](Arguments& a) {
    reference::furthest_point_sample(sizes_of(a), a[0].as<float>(), a[1].as<int32_t>());
  };
  op.sizes = {{"b", 2, 1, 4}, {"n", 200, 1, 3000}, {"m", 64, 1, 300}};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 2000}, {"m", 500}}, {{"n", 3000}, {"m", 15}}};
  op.make = [](const Recipe& r) { return make("furthest_point_sample", r, "points", 3); };
  op.reductions = {axis_reduction("points", {{0, 1}}, {}, {0}), samples(),
                   axis_reduction("batches", {{0, 0}}, {{0, 0}})};
  return op;
}

Operator furthest_point_sample_with_dist() {
  Operator op;
  op.name = "furthest_point_sample_with_dist";
  op.function = "mluOpOmpFurthestPointSampleWithDist";
  op.query_function = "mluOpOmpGetFurthestPointSampleWithDistWorkspaceSize";
  op.tensors = {{"distances", Role::kInput, {"batch", "sample", "point"}, kAnyLayout},
                {"idx", Role::kOutput, {"batch", "sample"}, kAnyLayout, {1}}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetFurthestPointSampleWithDistWorkspaceSize(a.handle, a[0].desc, a[1].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpFurthestPointSampleWithDist, a.handle, a[0], a.workspace, a.workspace_size, a[1]);
  };
  op.expect = [](Arguments& a) {
    reference::furthest_point_sample_with_dist(sizes_of(a), a[0].as<float>(), a[1].as<int32_t>());
  };
  // One row of the matrix for each sample except the last.
  op.work = [](const Arguments& a) {
    const auto [B, N, M] = sizes_of(a);
    Work work = each_once(a, 1, 0);
    work.read_bytes = B * N * std::max<int64_t>(M - 1, 0) * int64_t{sizeof(float)};
    return work;
  };
  op.sizes = {{"b", 2, 1, 4}, {"n", 50, 1, 200}, {"m", 20, 1, 300}};
  op.parallel_sizes = {{{"n", 150}, {"m", 60}}};
  op.make = [](const Recipe& r) { return make("furthest_point_sample_with_dist", r, "distances", r["n"]); };
  op.reductions = {axis_reduction("points", {{0, 1}, {0, 2}}, {}, {0}), samples(),
                   axis_reduction("batches", {{0, 0}}, {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> ops = {furthest_point_sample(), furthest_point_sample_with_dist()};
  for (Operator& op : ops) {
    op.dtypes = {MLUOP_DTYPE_FLOAT};
    op.fit = fit;
  }
  return ops;
}

}  // namespace mluop::cases::furthest_point_sample
