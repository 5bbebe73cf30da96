#include "reference/axis_aligned_nms.h"

#include "case/description.h"

namespace mluop::cases::axis_aligned_nms {
namespace {

float real(const Arguments& a, std::string_view name) { return static_cast<float>(a.parameters->real(name)); }

mluOpStatus_t run_soft_nms(const Arguments& a) {
  return call(mluOpOmpSoftNms, a.handle, static_cast<mluOpOmpSoftNmsMethod_t>(a.int32("method")),
              real(a, "iou_threshold"), real(a, "sigma"), real(a, "min_score"), a.int32("offset"), a[0], a[1],
              a.workspace, a.workspace_size, a[2], a[3], a[4].as<int32_t>());
}

void expect_soft_nms(Arguments& a) {
  reference::soft_nms({a[0].dim(0), a.int32("method"), real(a, "iou_threshold"), real(a, "sigma"),
                       real(a, "min_score"), a.int32("offset")},
                      a[0].as<float>(), a[1].as<float>(), a[2].as<float>(), a[3].as<int32_t>(),
                      a[4].as<int32_t>());
}

void fit_soft_nms(Case& c) {
  const int64_t N = c.inputs[0].dims[0];
  set_shape(c.outputs[0], {N, 5});
  set_shape(c.outputs[1], {N});
  set_shape(c.outputs[2], {1});
}

mluOpStatus_t run_nms_match(const Arguments& a) {
  return call(mluOpOmpNmsMatch, a.handle, real(a, "iou_threshold"), a[0], a.workspace, a.workspace_size, a[1],
              a[2], a[3].as<int32_t>());
}

void expect_nms_match(Arguments& a) {
  reference::nms_match({a[0].dim(0), real(a, "iou_threshold")}, a[0].as<float>(), a[1].as<int32_t>(),
                       a[2].as<int32_t>(), a[3].as<int32_t>());
}

void fit_nms_match(Case& c) {
  const int64_t N = c.inputs[0].dims[0];
  set_shape(c.outputs[0], {N});
  set_shape(c.outputs[1], {N});
  set_shape(c.outputs[2], {1});
}

// Boxes with sides from 1 to 2 in a square, some with equal numbers; `columns` numbers a box. Columns past x1, y1,
// x2 and y2 are scores.
Tensor boxes_tensor(const Recipe& r, const std::string& id, int64_t columns) {
  Tensor tensor = make_tensor(id, MLUOP_DTYPE_FLOAT, {r["n"], columns});
  if (checked_product({r["n"], columns}) > r.max_inline) return with_uniform(tensor, r.seed);
  Integers random(r.seed);
  // A multiple of 1/16.
  const auto below = [&](int64_t limit) { return static_cast<float>(random.below(limit * 16)) / 16; };
  std::vector<float> values;
  for (int64_t i = 0; i < r["n"]; ++i) {
    const float x = below(r["side"]), y = below(r["side"]);
    values.insert(values.end(), {x, y, x + 1 + below(1), y + 1 + below(1)});
    for (int64_t column = 4; column < columns; ++column) values.push_back(below(4));
  }
  return with_values(tensor, values);
}

Case make_soft_nms(const Recipe& r) {
  Case c = new_case("soft_nms", r, {"method", "offset"});
  c.parameters.set_real("iou_threshold", double{0.3F});
  c.parameters.set_real("sigma", 0.5);
  c.parameters.set_real("min_score", 0.125);
  c.inputs = {boxes_tensor(r, "boxes", 4),
              with_uniform(make_tensor("scores", MLUOP_DTYPE_FLOAT, {r["n"]}), r.seed + 1, 0, 1)};
  c.outputs = {make_tensor("dets", MLUOP_DTYPE_FLOAT), make_tensor("inds", MLUOP_DTYPE_INT32),
               make_tensor("result_num", MLUOP_DTYPE_INT32)};
  fit_soft_nms(c);
  return c;
}

Case make_nms_match(const Recipe& r) {
  Case c = new_case("nms_match", r);
  c.parameters.message = "nms_match_param";
  c.parameters.set_real("iou_threshold", double{0.3F});
  c.inputs = {boxes_tensor(r, "dets", 5)};
  c.outputs = {make_tensor("members", MLUOP_DTYPE_INT32), make_tensor("group_sizes", MLUOP_DTYPE_INT32),
               make_tensor("group_num", MLUOP_DTYPE_INT32)};
  fit_nms_match(c);
  return c;
}

Operator soft_nms() {
  Operator op;
  op.name = "soft_nms";
  op.function = "mluOpOmpSoftNms";
  op.query_function = "mluOpOmpGetSoftNmsWorkspaceSize";
  op.tensors = {{"boxes", Role::kInput, {"box", "coordinate"}, kAnyLayout},
                {"scores", Role::kInput, {"box"}, kAnyLayout},
                {"dets", Role::kOutput, {"box", "column"}, kAnyLayout},
                {"inds", Role::kOutput, {"box"}, kAnyLayout},
                {.id = "result_num", .role = Role::kOutput, .axes = {"element"}, .has_descriptor = false}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetSoftNmsWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  op.run = run_soft_nms;
  op.expect = expect_soft_nms;
  op.sizes = {{"n", 100, 1, 3000},
              {"side", 5, 1, 40, false},
              {"method", MLUOP_OMP_SOFT_NMS_LINEAR, MLUOP_OMP_SOFT_NMS_NAIVE, MLUOP_OMP_SOFT_NMS_GAUSSIAN, false},
              {"offset", 0, 0, 1, false}};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 20000}, {"method", MLUOP_OMP_SOFT_NMS_NAIVE}},
                       {{"n", 500}, {"method", MLUOP_OMP_SOFT_NMS_GAUSSIAN}}};
  op.make = make_soft_nms;
  op.fit = fit_soft_nms;
  op.reductions = {axis_reduction("boxes", {{0, 0}, {1, 0}})};
  return op;
}

Operator nms_match() {
  Operator op;
  op.name = "nms_match";
  op.function = "mluOpOmpNmsMatch";
  op.query_function = "mluOpOmpGetNmsMatchWorkspaceSize";
  op.tensors = {{"dets", Role::kInput, {"box", "column"}, kAnyLayout},
                {"members", Role::kOutput, {"box"}, kAnyLayout},
                {"group_sizes", Role::kOutput, {"group"}, kAnyLayout},
                {.id = "group_num", .role = Role::kOutput, .axes = {"element"}, .has_descriptor = false}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetNmsMatchWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  op.run = run_nms_match;
  op.expect = expect_nms_match;
  op.sizes = {{"n", 100, 1, 3000}, {"side", 5, 1, 40, false}};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 1500}, {"side", 20}}};
  op.make = make_nms_match;
  op.fit = fit_nms_match;
  op.reductions = {axis_reduction("boxes", {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> ops = {soft_nms(), nms_match()};
  for (Operator& op : ops) {
    op.parameter_messages = {op.name + "_param"};
    op.dtypes = {MLUOP_DTYPE_FLOAT};
  }
  return ops;
}

}  // namespace mluop::cases::axis_aligned_nms
