#include "reference/roi_align.h"

#include <algorithm>

#include "case/api.h"
#include "case/description.h"

namespace mluop::cases::roi_align {
namespace {

using reference::RoiAlignProblem;

bool is_max(const Arguments& a) { return a.int32("pool_mode") == 0; }
float scale_of(const Arguments& a) { return static_cast<float>(a.parameters->real("spatial_scale")); }
bool is_aligned(const Arguments& a) { return a.integer("aligned") != 0; }

// `pixels` and `bins`: the tensors of pixels and of bins.
RoiAlignProblem problem_of(const Arguments& a, const Operand& pixels, const Operand& bins) {
  const bool channels_last = pixels.layout != MLUOP_LAYOUT_NCHW;
  const size_t channel = channels_last ? 3 : 1, height = channels_last ? 1 : 2;
  return {.B = pixels.dim(0),
          .C = pixels.dim(channel),
          .H = pixels.dim(height),
          .W = pixels.dim(height + 1),
          .R = bins.dim(0),
          .PH = bins.dim(height),
          .PW = bins.dim(height + 1),
          .channels_last = channels_last,
          .aligned = is_aligned(a),
          .sampling_ratio = a.int32("sampling_ratio"),
          .spatial_scale = scale_of(a)};
}

mluOpStatus_t run_forward(const Arguments& a) {
  const RoiAlignForwardDescriptor desc;
  const mluOpStatus_t status = mluOpSetRoiAlignForwardDescriptor_v2(
      desc, a.int32("pooled_height"), a.int32("pooled_width"), a.int32("sampling_ratio"), scale_of(a),
      a.int32("pool_mode"), is_aligned(a));
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return call(mluOpRoiAlignForward_v2, a.handle, mluOpRoiAlignForwardDescriptor_t{desc}, a[0], a[1], a[2], a[3],
              a[4]);
}

void expect_forward(Arguments& a) {
  double* const sums = is_max(a) ? nullptr : sums_of(a[2]);
  if (a[2].count() == 0) return;
  const RoiAlignProblem problem = problem_of(a, a[0], a[2]);
  with_element_type(a[0], [&]<class T>() {
    if (is_max(a)) {
      reference::roi_align_maxima(problem, a[1].as<T>(), a[0].as<T>(), a[2].as<T>(), a[3].as<T>(), a[4].as<T>());
    } else {
      reference::roi_align_means(problem, a[1].as<T>(), a[0].as<T>(), sums);
    }
  });
}

mluOpStatus_t run_backward(const Arguments& a) {
  return call(mluOpRoiAlignBackward_v2, a.handle, a[0], a[1], a[2], a[3], scale_of(a), a.int32("sampling_ratio"),
              is_aligned(a), a.int32("pool_mode"), a[4]);
}

void expect_backward(Arguments& a) {
  double* const sums = is_max(a) ? nullptr : sums_of(a[4]);
  if (a[4].count() == 0) return;
  const RoiAlignProblem problem = problem_of(a, a[4], a[0]);
  with_element_type(a[0], [&]<class T>() {
    if (is_max(a)) {
      reference::roi_align_maxima_backward(problem, a[1].as<T>(), a[0].as<T>(), a[2].as<T>(), a[3].as<T>(),
                                           a[4].as<T>());
    } else {
      reference::roi_align_means_backward(problem, a[1].as<T>(), a[0].as<T>(), sums);
    }
  });
}

Dims shape_of(mluOpTensorLayout_t layout, int64_t count, int64_t channels, int64_t height, int64_t width) {
  if (layout == MLUOP_LAYOUT_NCHW) return {count, channels, height, width};
  return {count, height, width, channels};
}

mluOpTensorLayout_t layout_of(const Recipe& r) { return r["nchw"] != 0 ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_NHWC; }

int64_t channels_of(const Tensor& tensor) { return tensor.dims[tensor.layout == MLUOP_LAYOUT_NCHW ? 1 : 3]; }

void fit_forward(Case& c) {
  const Tensor& input = c.inputs[0];
  const Dims bins = shape_of(input.layout, c.inputs[1].dims[0], channels_of(input),
                             c.parameters.integer("pooled_height"), c.parameters.integer("pooled_width"));
  for (Tensor& output : c.outputs) set_shape(output, bins);
}

// The number of pixels is kept.
void fit_backward(Case& c) {
  Dims dims = c.outputs[0].dims;
  dims[c.outputs[0].layout == MLUOP_LAYOUT_NCHW ? 1 : 3] = channels_of(c.inputs[0]);
  set_shape(c.outputs[0], dims);
}

// RoIs at multiples of 1/8; some extend past the image, or have a zero or negative size. Coordinates are not
// negative, because tests compare with the sums of absolute values.
Tensor make_boxes(const Recipe& r, float spatial_scale) {
  const Tensor boxes = make_tensor("boxes", r.dtype, {r["r"], 5});
  if (r["r"] * 5 > r.max_inline) return with_uniform(boxes, r.seed + 1, 0, 1);
  Integers random(r.seed + 1);
  const auto eighths = [&](int64_t below) { return static_cast<float>(random.below(below)) / 8; };
  std::vector<float> values;
  for (int64_t i = 0; i < r["r"]; ++i) {
    values.push_back(static_cast<float>(random.below(r["b"])));
    float low[2], high[2];
    for (const int axis : {0, 1}) {
      const int64_t pixels = 8 * r[axis == 0 ? "w" : "h"];
      low[axis] = eighths(pixels + 16);
      high[axis] = std::max(0.0F, low[axis] + eighths(pixels + 8) - (random.below(8) == 0 ? 2.0F : 0.0F));
    }
    for (const float each : {low[0], low[1], high[0], high[1]}) values.push_back(each / spatial_scale);
  }
  return with_numbers(boxes, values);
}

void set_parameters(Case& c, const Recipe& r, float spatial_scale) {
  c.parameters.set_real("spatial_scale", spatial_scale);
  c.parameters.set("sampling_ratio", r["sampling_ratio"]);
  c.parameters.set("aligned", r["aligned"]);
  c.parameters.set("pool_mode", r["pool_mode"]);
}

// One of two scales.
float scale_of(const Recipe& r) { return r["aligned"] != 0 ? 0.25F : 1; }

Case make_forward(const Recipe& r) {
  checked_product({r["r"], r["c"], r["ph"], r["pw"]}, int64_t{1} << 40);
  checked_product({r["b"], r["c"], r["h"], r["w"]}, int64_t{1} << 40);
  const float scale = scale_of(r);
  Case c = new_case("roi_align_forward_v2", r);
  c.parameters.message = "roi_align_forward_v2_param";
  c.parameters.set("pooled_height", r["ph"]);
  c.parameters.set("pooled_width", r["pw"]);
  set_parameters(c, r, scale);
  const auto layout = layout_of(r);
  c.inputs = {with_uniform(make_tensor("input", r.dtype, shape_of(layout, r["b"], r["c"], r["h"], r["w"]), layout),
                           r.seed),
              make_boxes(r, scale)};
  c.outputs = {make_tensor("output", r.dtype, {}, layout)};
  if (r["pool_mode"] == 0) {
    for (const char* id : {"argmax_x", "argmax_y"}) c.outputs.push_back(make_tensor(id, r.dtype, {}, layout));
  }
  fit_forward(c);
  return c;
}

Case make_backward(const Recipe& r) {
  checked_product({r["r"], r["c"], r["ph"], r["pw"]}, int64_t{1} << 40);
  checked_product({r["b"], r["c"], r["h"], r["w"]}, int64_t{1} << 40);
  const float scale = scale_of(r);
  Case c = new_case("roi_align_backward_v2", r);
  c.parameters.message = "roi_align_backward_v2_param";
  set_parameters(c, r, scale);
  const auto layout = layout_of(r);
  const Dims bins = shape_of(layout, r["r"], r["c"], r["ph"], r["pw"]);
  c.inputs = {with_uniform(make_tensor("grads", r.dtype, bins, layout), r.seed), make_boxes(r, scale)};
  if (r["pool_mode"] == 0) {
    c.inputs.push_back(with_uniform(make_tensor("argmax_x", r.dtype, bins, layout), r.seed + 2, -2,
                                    static_cast<double>(r["w"] + 1)));
    c.inputs.push_back(with_uniform(make_tensor("argmax_y", r.dtype, bins, layout), r.seed + 3, -2,
                                    static_cast<double>(r["h"] + 1)));
  }
  c.outputs = {make_tensor("grads_image", r.dtype, shape_of(layout, r["b"], r["c"], r["h"], r["w"]), layout)};
  return c;
}

std::vector<SizeRule> sizes() {
  return {{"b", 2, 1, 3},
          {"c", 5, 1, 70},
          {"h", 9, 1, 30},
          {"w", 11, 1, 40},
          {"r", 6, 1, 20},
          {"ph", 3, 1, 8},
          {"pw", 2, 1, 8},
          {"pool_mode", 0, 0, 1, false},
          {"aligned", 1, 0, 1, false},
          {"sampling_ratio", 0, 0, 3, false},
          {"nchw", 0, 0, 1, false}};
}

const std::vector<std::map<std::string, int64_t>> kParallelSizes = {
    {{"c", 70}, {"h", 40}, {"w", 50}, {"r", 60}, {"ph", 7}, {"pw", 7}, {"pool_mode", 1}},
    {{"c", 70}, {"h", 40}, {"w", 50}, {"r", 60}, {"ph", 7}, {"pw", 7}, {"pool_mode", 1}, {"nchw", 1}},
    {{"c", 40}, {"h", 40}, {"w", 50}, {"r", 60}, {"ph", 7}, {"pw", 7}, {"pool_mode", 0}}};

// A bin has one sample, with 16 operations for each channel: two for each of the four pixels, and its sum.
Work work_of(const Arguments& a, size_t inputs, const Operand& bins) {
  return each_once(a, inputs, 16 * bins.count());
}

// In NHWC and NCHW, dimensions of images are free, and in a backward pass dimensions of bins.
Operator forward() {
  Operator op;
  op.name = "roi_align_forward_v2";
  op.aliases = {"roialign_forward"};
  op.function = "mluOpRoiAlignForward_v2";
  op.tensors = {{"input", Role::kInput, {}, {}, {0, 1, 2, 3}},
                {"boxes", Role::kInput, {"roi", "number"}, kAnyLayout},
                {"output", Role::kOutput, {}},
                {"argmax_x", Role::kOutput, {}},
                {"argmax_y", Role::kOutput, {}}};
  for (const size_t i : {3, 4}) op.tensors[i].is_optional = true;
  op.tensors[1].keeps_signs = true;
  op.parameter_messages = {"roi_align_forward_v2_param", "roialign_param"};
  op.run = run_forward;
  op.expect = expect_forward;
  op.terms = [](const Arguments& a) { return 64 + 16 * (a[0].count() / std::max<int64_t>(a[0].dim(0), 1)); };
  op.criteria = sum_criteria;
  op.work = [](const Arguments& a) { return work_of(a, 2, a[2]); };
  op.multiplies = true;
  op.sizes = sizes();
  op.parallel_sizes = kParallelSizes;
  op.make = make_forward;
  op.fit = fit_forward;
  op.reductions = {axis_reduction("rois", {{1, 0}}, {{0, 0}, {1, 0}, {2, 0}})};
  return op;
}

Operator backward() {
  Operator op;
  op.name = "roi_align_backward_v2";
  op.aliases = {"roi_align_backward"};
  op.function = "mluOpRoiAlignBackward_v2";
  op.tensors = {{"grads", Role::kInput, {}, {}, {1, 2, 3}},
                {"boxes", Role::kInput, {"roi", "number"}, kAnyLayout},
                {"argmax_x", Role::kInput, {}},
                {"argmax_y", Role::kInput, {}},
                {"grads_image", Role::kOutput, {}, {}, {0, 1, 2, 3}}};
  for (const size_t i : {2, 3}) op.tensors[i].is_optional = true;
  for (const size_t i : {1, 2, 3}) op.tensors[i].keeps_signs = true;
  op.parameter_messages = {"roi_align_backward_v2_param", "roi_align_backward_param"};
  op.run = run_backward;
  op.expect = expect_backward;
  op.terms = [](const Arguments& a) { return 64 + 16 * a[0].count(); };
  op.criteria = sum_criteria;
  op.work = [](const Arguments& a) { return work_of(a, 4, a[0]); };
  op.multiplies = true;
  op.sizes = sizes();
  op.parallel_sizes = kParallelSizes;
  op.make = make_backward;
  op.fit = fit_backward;
  op.reductions = {axis_reduction("rois", {{0, 0}, {1, 0}, {2, 0}, {3, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {forward(), backward()}; }

}  // namespace mluop::cases::roi_align
