#include "reference/quadrilaterals.h"

#include "case/operators/shared/box_pairs.h"
#include "case/operators/shared/quads.h"

namespace mluop::cases::quadrilaterals {
namespace {

// Whether one in 8 boxes has a number that is not finite, or corners on a line.
const SizeRule kSpecials = {"specials", 0, 0, 1, false};

void expect_ious(Arguments& a) {
  reference::box_iou_quadri({a[0].dim(0), a[1].dim(0), a.int32("mode") == 1, is_aligned(*a.parameters)},
                            a[0].as<float>(), a[1].as<float>(), a[2].as<float>());
}

Case make_ious(const Recipe& r) {
  Case c = new_case("box_iou_quadri", r, {"mode"});
  c.parameters.set("aligned", r["all_pairs"] == 0 ? 1 : 0);
  const int64_t N = r["n"], M = is_aligned(c.parameters) ? N : r["m"];
  checked_product({N + M, kQuadColumns});
  Quads quads(r.seed, N + M, r["specials"] != 0);
  std::vector<float> bbox1, bbox2;
  std::vector<Quad> first;
  for (int64_t n = 0; n < N; ++n) quads.append(first.emplace_back(quads.anywhere()), bbox1);
  for (int64_t m = 0; m < M; ++m) {
    quads.append(N == 0 ? quads.anywhere() : quads.near(first[static_cast<size_t>(m % N)]), bbox2);
  }
  c.inputs = {with_values(make_tensor("bbox1", MLUOP_DTYPE_FLOAT, {N, kQuadColumns}), bbox1),
              with_values(make_tensor("bbox2", MLUOP_DTYPE_FLOAT, {M, kQuadColumns}), bbox2)};
  c.outputs = {make_tensor("ious", MLUOP_DTYPE_FLOAT)};
  fit_box_pairs(c);
  return c;
}

float iou_threshold(const Arguments& a) { return static_cast<float>(a.parameters->real("iou_threshold")); }

void expect_nms(Arguments& a) {
  reference::nms_quadri({a[0].dim(0), a[0].dim(1), iou_threshold(a)}, a[0].as<float>(), a[1].as<float>(),
                        a[2].as<int32_t>(), a[3].as<int32_t>());
}

void expect_poly_nms(Arguments& a) {
  reference::poly_nms(a[0].dim(0), iou_threshold(a), a[0].as<float>(), a[1].as<int32_t>(), a[2].as<int32_t>());
}

void fit_nms(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0]});
  set_shape(c.outputs[1], {1});
}

// Rows of corners, and of further numbers in [0, 3).
Tensor make_rows(const Recipe& r, int64_t columns) {
  const int64_t N = r["n"];
  if (columns < kQuadColumns) fail({}, "columns is " + std::to_string(columns) + ", expected at least 8");
  checked_product({N, columns});
  Quads quads(r.seed, N, r["specials"] != 0);
  std::vector<float> values;
  std::vector<Quad> all;
  for (int64_t n = 0; n < N; ++n) {
    all.push_back(n == 0 ? quads.anywhere() : quads.near(all[static_cast<size_t>(quads.below(n))]));
    quads.append(all.back(), values);
    // Multiples of 1/1024: some scores are equal.
    for (int64_t i = kQuadColumns; i < columns; ++i) {
      values.push_back(static_cast<float>(quads.below(3 << 10)) / 1024);
    }
  }
  return with_values(make_tensor("boxes", MLUOP_DTYPE_FLOAT, {N, columns}), values);
}

Case make_nms(const Recipe& r) {
  Case c = new_case("nms_quadri", r);
  c.parameters.message = "nms_quadri_param";
  c.parameters.set_real("iou_threshold", double{static_cast<float>(r["iou_percent"]) / 100});
  c.inputs = {make_rows(r, r["columns"]),
              with_uniform(make_tensor("scores", MLUOP_DTYPE_FLOAT, {r["n"]}), r.seed, 0, 1)};
  c.outputs = {make_tensor("output", MLUOP_DTYPE_INT32), make_tensor("result_num", MLUOP_DTYPE_INT32)};
  fit_nms(c);
  return c;
}

Case make_poly_nms(const Recipe& r) {
  Case c = new_case("poly_nms", r);
  c.parameters.message = "poly_nms_param";
  c.parameters.set_real("iou_threshold", double{static_cast<float>(r["iou_percent"]) / 100});
  c.inputs = {make_rows(r, kQuadColumns + 1)};
  c.outputs = {make_tensor("output", MLUOP_DTYPE_INT32), make_tensor("output_size", MLUOP_DTYPE_INT32)};
  fit_nms(c);
  return c;
}

Operator described_ious() {
  Operator op;
  op.name = "box_iou_quadri";
  op.function = "mluOpOmpBoxIouQuadri";
  op.tensors = {{"bbox1", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                {"bbox2", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                {"ious", Role::kOutput, {"first box", "second box"}, kAnyLayout}};
  op.parameter_messages = {"box_iou_quadri_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpOmpBoxIouQuadri, a.handle, a.int32("mode"), is_aligned(*a.parameters), a[0], a[1], a[2]);
  };
  op.expect = expect_ious;
  op.criteria = [](const Operand&, mluOpOmpAlgorithm_t) { return std::vector<Criterion>{{Metric::kDiff3, 1e-6}}; };
  // Four comparisons detect that two boxes are apart, as most are.
  op.work = [](const Arguments& a) { return each_once(a, 2, 4 * a[2].count()); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {
      {"n", 40, 1, 300}, {"m", 30, 1, 300}, {"mode", 0, 0, 1, false}, {"all_pairs", 1, 0, 1, false}, kSpecials};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 300}, {"m", 400}, {"mode", 1}}, {{"n", 5000}, {"all_pairs", 0}}};
  op.networks = {{"1000x1000", {{"n", 1000}, {"m", 1000}}}};
  op.make = make_ious;
  op.fit = fit_box_pairs;
  op.reductions = {box_pair_reduction(0), box_pair_reduction(1)};
  return op;
}

// What both suppressions share.
Operator described_nms(const std::string& name) {
  Operator op;
  op.name = name;
  op.parameter_messages = {name + "_param"};
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"n", 100, 1, 1000}, {"iou_percent", 50, -10, 70, false}, kSpecials};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 2000}, {"iou_percent", 25}}, {{"n", 500}, {"iou_percent", -10}, {"specials", 1}}};
  op.fit = fit_nms;
  // Four comparisons for each box and each kept box. The number of kept boxes is the last tensor.
  op.work = [](const Arguments& a) {
    return each_once(a, a.tensors.size() - 2, 4 * a[0].dim(0) * *a.tensors.back().as<int32_t>());
  };
  return op;
}

Operator described_nms_quadri() {
  Operator op = described_nms("nms_quadri");
  op.function = "mluOpOmpNmsQuadri";
  op.query_function = "mluOpOmpGetNmsQuadriWorkspaceSize";
  op.tensors = {{"boxes", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                {"scores", Role::kInput, {"box"}, kAnyLayout},
                {"output", Role::kOutput, {"kept box"}, kAnyLayout},
                {.id = "result_num", .role = Role::kOutput, .axes = {"element"}, .has_descriptor = false}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetNmsQuadriWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpNmsQuadri, a.handle, iou_threshold(a), a[0], a[1], a.workspace, a.workspace_size, a[2],
                a[3].as<int32_t>());
  };
  op.expect = expect_nms;
  op.sizes.push_back({"columns", 8, 8, 9, false});
  op.networks = {{"dota 4096_iou0.1", {{"n", 4096}, {"iou_percent", 10}}}};
  op.make = make_nms;
  op.reductions = {axis_reduction("boxes", {{0, 0}, {1, 0}})};
  return op;
}

Operator described_poly_nms() {
  Operator op = described_nms("poly_nms");
  op.function = "mluOpPolyNms";
  op.query_function = "mluOpGetPolyNmsWorkspaceSize";
  op.tensors = {{"boxes", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                {"output", Role::kOutput, {"kept box"}, kAnyLayout},
                {.id = "output_size", .role = Role::kOutput, .axes = {"element"}, .has_descriptor = false}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetPolyNmsWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpPolyNms, a.handle, a[0], iou_threshold(a), a.workspace, a.workspace_size, a[1],
                static_cast<void*>(a[2].as<int32_t>()));
  };
  op.expect = expect_poly_nms;
  op.networks = {{"gliding_vertex 2000_iou0.1", {{"n", 2000}, {"iou_percent", 10}}}};
  op.make = make_poly_nms;
  op.reductions = {axis_reduction("boxes", {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described_ious(), described_nms_quadri(), described_poly_nms()}; }

}  // namespace mluop::cases::quadrilaterals
