#include <cmath>

#include "case/description.h"
#include "reference/bilinear_samples.h"

namespace mluop::cases::border_align {
namespace {

// A border of a box: its first point and its steps.
struct Border {
  template <class T>
  Border(const T* box, int64_t border, int pool_size) {
    float numbers[4];
    for (int i = 0; i < 4; ++i) numbers[i] = reference::to_f32(box[i]);
    y = numbers[border < 2 ? 1 : 3];
    x = numbers[border < 2 ? 0 : 2];
    const float width = (numbers[2] - numbers[0]) / static_cast<float>(pool_size),
                height = (numbers[3] - numbers[1]) / static_cast<float>(pool_size);
    if (border == 0) step_x = width;
    if (border == 1) step_y = height;
    if (border == 2) step_x = -width;
    if (border == 3) step_y = -height;
  }

  float y, x, step_y = 0, step_x = 0;
};

// The bits of the fp32 loop.
void expect_forward(Arguments& a) {
  const int64_t H = a[0].dim(1), W = a[0].dim(2), K = a[1].dim(1), C = a[2].dim(3);
  const int pool_size = a.int32("pool_size");
  with_element_type(a[0], [&]<class T>() {
    for (int64_t i = 0; i < a[2].count(); ++i) {
      const int64_t c = i % C, border = i / C % 4, box = i / C / 4;
      const T* map = a[0].as<T>() + box / K * H * W * 4 * C + border * C + c;
      const Border points(a[1].as<T>() + box * 4, border, pool_size);
      float y = points.y, x = points.x, maximum = 0;
      int32_t number = 0;
      for (int32_t n = 0; n <= pool_size; ++n, y += points.step_y, x += points.step_x) {
        float value = 0;
        bool is_first = true;
        reference::for_each_corner(y, x, H, W, [&](int64_t pixel, float weight) {
          const float term = weight * reference::to_f32(map[pixel * 4 * C]);
          value = is_first ? term : value + term;
          is_first = false;
        });
        if (n > 0 && !(value > maximum)) continue;
        maximum = value;
        number = n;
      }
      reference::put(maximum, a[2].as<T>() + i);
      a[3].as<int32_t>()[i] = number;
    }
  });
}

void expect_backward(Arguments& a) {
  double* const sums = sums_of(a[3]);
  const int64_t H = a[3].dim(1), W = a[3].dim(2), K = a[0].dim(1), C = a[0].dim(3);
  with_element_type(a[0], [&]<class T>() {
    for (int64_t i = 0; i < a[0].count(); ++i) {
      const int64_t c = i % C, border = i / C % 4, box = i / C / 4;
      const int32_t number = a[2].as<int32_t>()[i];
      if (number < 0 || number > a.int32("pool_size")) continue;
      const Border points(a[1].as<T>() + box * 4, border, a.int32("pool_size"));
      const auto steps = static_cast<float>(number);
      const double grad = reference::to_f32(a[0].as<T>()[i]);
      reference::for_each_corner(points.y + points.step_y * steps, points.x + points.step_x * steps, H, W,
                                 [&](int64_t pixel, float weight) {
                                   if (std::isnan(weight)) return;
                                   sums[((box / K * H * W + pixel) * 4 + border) * C + c] += weight * grad;
                                 });
    }
  });
}

template <bool kForward>
Case make(const Recipe& r) {
  Case c = new_case(kForward ? "border_align_forward" : "border_align_backward", r, {"pool_size"});
  const int64_t C = checked_product({r["c"], 4});
  checked_product({r["b"], r["h"], r["w"], C});
  checked_product({r["b"], r["k"], C});
  // Corners at multiples of 1/8 pixel; some boxes extend past the image or have a negative size.
  Integers random(r.seed + 1);
  std::vector<float> values;
  for (int64_t i = 0; i < r["b"] * r["k"] * 4; ++i) {
    values.push_back(static_cast<float>(random.below(8 * (r[i % 2 == 0 ? "w" : "h"] + 2))) / 8);
  }
  const Tensor boxes = with_numbers(make_tensor("boxes", r.dtype, {r["b"], r["k"], 4}), values);
  const auto tensor = [&](const char* id, const Dims& dims, mluOpDataType_t dtype) {
    return make_tensor(id, dtype, dims, MLUOP_LAYOUT_NHWC);
  };
  const Dims maps = {r["b"], r["h"], r["w"], C}, borders = {r["b"], r["k"], 4, r["c"]};
  if (kForward) {
    c.inputs = {with_uniform(tensor("input", maps, r.dtype), r.seed), boxes};
    c.outputs = {tensor("output", borders, r.dtype), tensor("argmax_idx", borders, MLUOP_DTYPE_INT32)};
  } else {
    const Tensor argmax = with_uniform(tensor("argmax_idx", borders, MLUOP_DTYPE_INT32), r.seed + 2, -1,
                                       static_cast<double>(r["pool_size"] + 2));
    c.inputs = {with_uniform(tensor("grad_output", borders, r.dtype), r.seed), boxes, argmax};
    c.outputs = {tensor("grad_input", maps, r.dtype)};
  }
  return c;
}

void fit_forward(Case& c) {
  const Dims dims = {c.inputs[0].dims[0], c.inputs[1].dims[1], 4, c.inputs[0].dims[3] / 4};
  for (Tensor& output : c.outputs) set_shape(output, dims);
}

void fit_backward(Case& c) {
  const Dims &maps = c.outputs[0].dims, &grads = c.inputs[0].dims;
  set_shape(c.outputs[0], {grads[0], maps[1], maps[2], checked_product({grads[3], 4})});
}

template <bool kForward>
Operator described() {
  Operator op;
  op.name = kForward ? "border_align_forward" : "border_align_backward";
  op.function = kForward ? "mluOpBorderAlignForward" : "mluOpBorderAlignBackward";
  op.parameter_messages = {op.name + "_param", "border_align_param"};
  const std::vector<std::string> pixel = {"image", "row", "column", "channel"},
                                 borders = {"image", "box", "border", "channel"};
  const TensorRule boxes{"boxes", Role::kInput, {"image", "box", "number"}, kAnyLayout, {1}};
  if (kForward) {
    op.tensors = {{"input", Role::kInput, pixel, {}, {0, 1, 2, 3}},
                  boxes,
                  {"output", Role::kOutput, borders},
                  {"argmax_idx", Role::kOutput, borders}};
  } else {
    op.tensors = {{"grad_output", Role::kInput, borders, {}, {0, 1, 3}},
                  boxes,
                  {"argmax_idx", Role::kInput, borders},
                  {"grad_input", Role::kOutput, pixel, {}, {1, 2}}};
  }
  op.tensors[1].keeps_signs = true;
  op.run = [](const Arguments& a) {
    if constexpr (kForward) {
      return call(mluOpBorderAlignForward, a.handle, a[0], a[1], a.int32("pool_size"), a[2], a[3]);
    } else {
      return call(mluOpBorderAlignBackward, a.handle, a[0], a[1], a[2], a.int32("pool_size"), a[3]);
    }
  };
  op.expect = kForward ? expect_forward : expect_backward;
  if (!kForward) {
    op.terms = [](const Arguments& a) { return 4 + 4 * a[0].dim(1); };
    op.criteria = sum_criteria;
  }
  op.multiplies = true;
  // A sample has seven operations for a channel.
  op.work = [](const Arguments& a) {
    return each_once(a, kForward ? 2 : 3,
                     (kForward ? 7 * (a.int32("pool_size") + 1) : 8) * a[kForward ? 2 : 0].count());
  };
  op.sizes = {{"b", 2, 1, 3},  {"c", 5, 1, 70}, {"h", 6, 1, 20},
              {"w", 7, 1, 20}, {"k", 6, 1, 30}, {"pool_size", 3, 1, 12, false}};
  op.parallel_sizes = {{{"c", 70}, {"h", 20}, {"w", 30}, {"k", 200}, {"pool_size", 10}}};
  // BorderDet: levels of a feature pyramid, one box for each pixel.
  op.networks = {{"borderdet 25x38", {{"b", 2}, {"c", 256}, {"h", 25}, {"w", 38}, {"k", 950}, {"pool_size", 10}}},
                 {"borderdet 7x10", {{"b", 2}, {"c", 256}, {"h", 7}, {"w", 10}, {"k", 70}, {"pool_size", 10}}}};
  op.make = make<kForward>;
  op.fit = kForward ? fit_forward : fit_backward;
  op.reductions = {kForward ? axis_reduction("boxes", {{1, 1}}, {{0, 1}, {1, 1}})
                            : axis_reduction("boxes", {{0, 1}, {1, 1}, {2, 1}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described<false>(), described<true>()}; }

}  // namespace mluop::cases::border_align
