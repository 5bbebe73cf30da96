#include "reference/ms_deform_attn.h"

#include "case/description.h"

namespace mluop::cases::ms_deform_attn {
namespace {

// Value, shapes, starts, locations and weights come first.
reference::MsDeformAttnProblem problem_of(const Arguments& a) {
  return {.B = a[0].dim(0),
          .K = a[0].dim(1),
          .M = a[0].dim(2),
          .D = a[0].dim(3),
          .L = a[1].dim(0),
          .Q = a[3].dim(1),
          .P = a[3].dim(4),
          .value = a[0].as<float>(),
          .shapes = a[1].as<int32_t>(),
          .starts = a[2].as<int32_t>(),
          .locations = a[3].as<float>(),
          .weights = a[4].as<float>()};
}

mluOpStatus_t run_forward(const Arguments& a) {
  return call(mluOpMsDeformAttnForward, a.handle, a[0], a[1], a[2], a[3], a[4], a.int32("im2col_step"), a[5]);
}

void expect_forward(Arguments& a) { reference::ms_deform_attn(problem_of(a), a[5].as<float>()); }

mluOpStatus_t run_backward(const Arguments& a) {
  return call(mluOpMsDeformAttnBackward, a.handle, a[0], a[1], a[2], a[3], a[4], a[5], a.int32("im2col_step"),
              a[6], a[7], a[8]);
}

void expect_backward(Arguments& a) {
  reference::ms_deform_attn_backward(problem_of(a), a[5].as<float>(), a[6].as<float>(), a[7].as<float>(),
                                     a[8].as<float>());
}

void fit_forward(Case& c) {
  const Dims &value = c.inputs[0].dims, &locations = c.inputs[3].dims;
  set_shape(c.outputs[0], {value[0], locations[1], value[2], value[3]});
}

void fit_backward(Case& c) {
  set_shape(c.outputs[0], c.inputs[0].dims);
  set_shape(c.outputs[1], c.inputs[3].dims);
  set_shape(c.outputs[2], c.inputs[4].dims);
}

// The inputs of both operators. Each level has half as many pixels along each axis as the level before; one in
// eight samples is outside the image.
std::vector<Tensor> make_inputs(const Recipe& r, const char* prefix, const char* locations_id,
                                const char* weights_id) {
  const int64_t B = r["b"], M = r["m"], L = r["l"], Q = r["q"], P = r["p"];
  checked_product({L});
  std::vector<int32_t> shapes, starts;
  int64_t K = 0;
  for (int64_t l = 0; l < L; ++l) {
    const auto half = [&](int64_t extent) { return static_cast<int32_t>(extent >> std::min<int64_t>(l, 60)); };
    shapes.insert(shapes.end(), {half(r["h"]), half(r["w"])});
    starts.push_back(static_cast<int32_t>(K));
    K += int64_t{half(r["h"])} * half(r["w"]);
  }
  checked_product({B, K, M, r["d"]}, int64_t{1} << 40);
  checked_product({B, Q, M, L, P, 2}, int64_t{1} << 40);
  const auto id = [&](const char* name) { return std::string(prefix) + name; };
  const Tensor shape_tensor = make_tensor(id("spatial_shapes"), MLUOP_DTYPE_INT32, {L, 2});
  return {with_uniform(make_tensor(id("value"), r.dtype, {B, K, M, r["d"]}), r.seed),
          with_values(shape_tensor, shapes),
          with_values(make_tensor(id("level_start_index"), MLUOP_DTYPE_INT32, {L}), starts),
          with_uniform(make_tensor(id(locations_id), r.dtype, {B, Q, M, L, P, 2}), r.seed + 1, -0.07, 1.07),
          with_uniform(make_tensor(id(weights_id), r.dtype, {B, Q, M, L, P}), r.seed + 2)};
}

Case make_forward(const Recipe& r) {
  Case c = new_case("ms_deform_attn_forward", r, {"im2col_step"});
  c.inputs = make_inputs(r, "data_", "sampling_loc", "attn_weight");
  c.outputs = {make_tensor("data_col", r.dtype)};
  fit_forward(c);
  return c;
}

Case make_backward(const Recipe& r) {
  Case c = new_case("ms_deform_attn_backward", r, {"im2col_step"});
  c.inputs = make_inputs(r, "", "sampling_loc", "attn_weight");
  c.inputs.push_back(
      with_uniform(make_tensor("grad_output", r.dtype, {r["b"], r["q"], r["m"], r["d"]}), r.seed + 3));
  for (const char* id : {"grad_value", "grad_sampling_loc", "grad_attn_weight"}) {
    c.outputs.push_back(make_tensor(id, r.dtype));
  }
  fit_backward(c);
  return c;
}

// Shared by both operators. A sample has 10 operations for each channel.
Operator describe(const char* name, const char* function, const std::string& prefix) {
  const std::vector<std::string> samples = {"batch", "query", "head", "level", "point"};
  std::vector<std::string> places = samples;
  places.push_back("axis");
  Operator op;
  op.name = name;
  op.function = function;
  op.tensors = {{prefix + "value", Role::kInput, {"batch", "key", "head", "channel"}, kAnyLayout, {1}},
                {prefix + "spatial_shapes", Role::kInput, {"level", "axis"}, kAnyLayout},
                {prefix + "level_start_index", Role::kInput, {"level"}, kAnyLayout},
                {prefix + "sampling_loc", Role::kInput, places, kAnyLayout},
                {prefix + "attn_weight", Role::kInput, samples, kAnyLayout}};
  op.parameter_messages = {op.name + "_param"};
  op.criteria = sum_criteria;
  op.multiplies = true;
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"b", 2, 1, 4},  {"h", 6, 1, 20}, {"w", 7, 1, 20},
              {"m", 2, 1, 8},  {"d", 9, 1, 70}, {"l", 2, 1, 4},
              {"q", 8, 1, 60}, {"p", 3, 1, 8},  {"im2col_step", 64, 4, 64, false}};
  op.parallel_sizes = {{{"h", 12}, {"w", 12}, {"m", 4}, {"d", 32}, {"q", 90}, {"p", 4}}};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  Operator forward = describe("ms_deform_attn_forward", "mluOpMsDeformAttnForward", "data_");
  forward.tensors.push_back({"data_col", Role::kOutput, {"batch", "query", "head", "channel"}, kAnyLayout});
  forward.run = run_forward;
  forward.expect = expect_forward;
  forward.expect_bits = expect_forward;
  forward.work = [](const Arguments& a) { return each_once(a, 5, 10 * a[4].count() * a[0].dim(3)); };
  forward.make = make_forward;
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("queries", {{3, 1}, {4, 1}}, {{0, 1}}),
                        axis_reduction("points", {{3, 4}, {4, 4}})};
  Operator backward = describe("ms_deform_attn_backward", "mluOpMsDeformAttnBackward", "");
  backward.tensors.push_back({"grad_output", Role::kInput, {"batch", "query", "head", "channel"}, kAnyLayout});
  backward.tensors.push_back({"grad_value", Role::kOutput, backward.tensors[0].axes, kAnyLayout});
  backward.tensors.push_back({"grad_sampling_loc", Role::kOutput, backward.tensors[3].axes, kAnyLayout});
  backward.tensors.push_back({"grad_attn_weight", Role::kOutput, backward.tensors[4].axes, kAnyLayout});
  backward.run = run_backward;
  backward.expect = expect_backward;
  backward.expect_bits = expect_backward;
  backward.work = [](const Arguments& a) { return each_once(a, 6, 26 * a[4].count() * a[0].dim(3)); };
  backward.make = make_backward;
  backward.fit = fit_backward;
  backward.reductions = {axis_reduction("queries", {{3, 1}, {4, 1}, {5, 1}}, {{1, 1}, {2, 1}})};
  return {forward, backward};
}

}  // namespace mluop::cases::ms_deform_attn
