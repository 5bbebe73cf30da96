#include <cmath>

#include "case/description.h"
#include "reference/bilinear_samples.h"

namespace mluop::cases::rotated_feature_align {
namespace {

float scale_of(const Arguments& a) { return static_cast<float>(a.parameters->real("spatial_scale")); }

// Calls visit(from, to, weight) for the pixels that the output of pixel `to` adds, by the definition.
template <class Visit>
void for_each_weight(const Arguments& a, const Visit& visit) {
  const int64_t H = a[0].dim(1), W = a[0].dim(2);
  for (int64_t pixel = 0; pixel < a[0].dim(0) * H * W; ++pixel) {
    visit(pixel, pixel, 1.0F);
    float box[5];
    with_element_type(a[1], [&]<class T>() {
      for (int i = 0; i < 5; ++i) box[i] = reference::to_f32(a[1].as<T>()[pixel * 5 + i]);
    });
    const int64_t first = pixel / (H * W) * H * W;
    const auto sample = [&](float y, float x) {
      reference::for_each_corner(y, x, H, W,
                                 [&](int64_t from, float weight) { visit(first + from, pixel, weight); });
    };
    const float y = box[0] * scale_of(a), x = box[1] * scale_of(a);
    sample(y, x);
    if (a.int32("points") == 1) continue;
    const auto cos = static_cast<float>(std::cos(double{box[4]})),
               sin = static_cast<float>(std::sin(double{box[4]}));
    const float width = box[2] * scale_of(a) / 2, height = box[3] * scale_of(a) / 2;
    struct Corner {
      float of_width, of_height;
    };
    for (const auto [of_width, of_height] : {Corner{1, 1}, Corner{-1, 1}, Corner{-1, -1}, Corner{1, -1}}) {
      sample(y + of_width * (sin * width) + of_height * (cos * height),
             x + of_width * (cos * width) + of_height * (-sin * height));
    }
  }
}

template <bool kForward>
void expect(Arguments& a) {
  double* const sums = sums_of(a[2]);
  const int64_t C = a[0].dim(3);
  with_element_type(a[0], [&]<class T>() {
    const T* values = a[0].as<T>();
    for_each_weight(a, [&](int64_t from, int64_t to, float weight) {
      if (!kForward && std::isnan(weight)) return;  // A sample at NaN has no gradient.
      if (!kForward) std::swap(from, to);
      for (int64_t c = 0; c < C; ++c) sums[to * C + c] += weight * double{reference::to_f32(values[from * C + c])};
    });
  });
}

template <bool kForward>
Case make(const Recipe& r) {
  Case c = new_case(kForward ? "rotated_feature_align_forward" : "rotated_feature_align_backward", r);
  c.parameters.message = c.op_name + "_param";
  const float scale = r["points"] != 0 ? 0.125F : 1;
  c.parameters.set_real("spatial_scale", scale);
  c.parameters.set("points", r["points"] != 0 ? 5 : 1);
  const Dims dims = {r["b"], r["h"], r["w"], r["c"]};
  checked_product({r["b"], r["h"], r["w"], std::max<int64_t>(r["c"], 5)});
  // Centers around the map, and sizes of up to 8 pixels, at multiples of 1/8 pixel.
  Integers random(r.seed + 1);
  const auto eighths = [&](int64_t pixels) { return static_cast<float>(random.below(8 * pixels)) / 8 / scale; };
  std::vector<float> boxes;
  for (int64_t i = 0; i < r["b"] * r["h"] * r["w"]; ++i) {
    boxes.insert(boxes.end(), {eighths(r["h"] + 1), eighths(r["w"] + 1), eighths(8), eighths(8)});
    boxes.push_back(static_cast<float>(random.below(32) - 16) / 8);
  }
  c.inputs = {
      with_uniform(make_tensor(kForward ? "input" : "top_output", r.dtype, dims, MLUOP_LAYOUT_NHWC), r.seed),
      with_numbers(make_tensor("bboxes", r.dtype, {r["b"], r["h"], r["w"], 5}), boxes)};
  c.outputs = {make_tensor(kForward ? "output" : "bottom_input", r.dtype, dims, MLUOP_LAYOUT_NHWC)};
  return c;
}

template <bool kForward>
Operator described() {
  Operator op;
  op.name = kForward ? "rotated_feature_align_forward" : "rotated_feature_align_backward";
  op.function = kForward ? "mluOpRotatedFeatureAlignForward" : "mluOpRotatedFeatureAlignBackward";
  op.parameter_messages = {op.name + "_param"};
  const std::vector<std::string> axes = {"image", "row", "column", "channel"};
  op.tensors = {{kForward ? "input" : "top_output", Role::kInput, axes, {}, {0, 1, 2, 3}},
                {"bboxes", Role::kInput, {"image", "row", "column", "number"}, kAnyLayout},
                {kForward ? "output" : "bottom_input", Role::kOutput, axes}};
  op.tensors[1].keeps_signs = true;
  op.run = [](const Arguments& a) {
    return call(kForward ? mluOpRotatedFeatureAlignForward : mluOpRotatedFeatureAlignBackward, a.handle, a[0],
                a[1], scale_of(a), a.int32("points"), a[2]);
  };
  op.expect = expect<kForward>;
  op.terms = [](const Arguments& a) { return kForward ? 21 : 21 * a[0].dim(1) * a[0].dim(2); };
  op.criteria = sum_criteria;
  op.multiplies = true;
  // A sample has seven operations for a channel and one to add it.
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a.int32("points") * a[0].count()); };
  op.sizes = {{"b", 2, 1, 3}, {"c", 5, 1, 70}, {"h", 6, 1, 20}, {"w", 7, 1, 20}, {"points", 1, 0, 1, false}};
  op.parallel_sizes = {{{"c", 70}, {"h", 30}, {"w", 40}, {"points", 1}}};
  // R3Det of mmrotate, on levels of 1024 x 1024 pixels, and the size in the document of MLU-OPS.
  op.networks = {{"r3det 128x128 points1", {{"b", 1}, {"c", 256}, {"h", 128}, {"w", 128}, {"points", 0}}},
                 {"r3det 32x32 points1", {{"b", 1}, {"c", 256}, {"h", 32}, {"w", 32}, {"points", 0}}},
                 {"100x125 points5", {{"b", 2}, {"c", 256}, {"h", 100}, {"w", 125}, {"points", 1}}}};
  op.make = make<kForward>;
  op.fit = [](Case& c) { set_shape(c.outputs[0], c.inputs[0].dims); };
  op.reductions = {axis_reduction("images", {{0, 0}, {1, 0}}, {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described<false>(), described<true>()}; }

}  // namespace mluop::cases::rotated_feature_align
