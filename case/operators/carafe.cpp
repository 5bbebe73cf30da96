#include <algorithm>

#include "case/api.h"
#include "case/description.h"

namespace mluop::cases::carafe {
namespace {

// Calls visit(output pixel, input pixel, weight): the indices of pixels in [N, H, W] and of the weight of group 0
// in the mask, for each weight inside of the image.
template <class Visit>
void for_each_weight(const Arguments& a, const Visit& visit) {
  const int64_t N = a[0].dim(0), H = a[0].dim(1), W = a[0].dim(2), k = a.int32("kernel_size"),
                scale = a.int32("scale_factor"), weights = a.int32("group_size") * k * k;
  for (int64_t pixel = 0; pixel < N * H * W * scale * scale; ++pixel) {
    const int64_t n = pixel / (H * W * scale * scale), y = pixel / (W * scale) % (H * scale),
                  x = pixel % (W * scale);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        const int64_t h = y / scale + i - (k - 1) / 2, w = x / scale + j - (k - 1) / 2;
        if (h < 0 || h >= H || w < 0 || w >= W) continue;
        visit(pixel, (n * H + h) * W + w, pixel * weights + i * k + j);
      }
    }
  }
}

// Calls visit(output element, input element, weight) for each product.
template <class Visit>
void for_each_product(const Arguments& a, const Visit& visit) {
  const int64_t C = a[0].dim(3), k = a.int32("kernel_size"), group_channels = C / a.int32("group_size");
  for_each_weight(a, [&](int64_t output, int64_t input, int64_t weight) {
    for (int64_t c = 0; c < C; ++c) visit(output * C + c, input * C + c, weight + c / group_channels * k * k);
  });
}

void expect_forward(Arguments& a) {
  double* const output = sums_of(a[2]);
  with_element_type(a[0], [&]<class T>() {
    const T *input = a[0].as<const T>(), *mask = a[1].as<const T>();
    for_each_product(a, [=](int64_t to, int64_t from, int64_t weight) {
      output[to] += static_cast<double>(reference::to_f32(input[from])) * reference::to_f32(mask[weight]);
    });
  });
}

void expect_backward(Arguments& a) {
  double* const grad_input = sums_of(a[3]);
  double* const grad_mask = sums_of(a[4]);
  with_element_type(a[0], [&]<class T>() {
    const T *input = a[0].as<const T>(), *mask = a[1].as<const T>(), *grad = a[2].as<const T>();
    for_each_product(a, [=](int64_t to, int64_t from, int64_t weight) {
      const double g = reference::to_f32(grad[to]);
      grad_input[from] += g * reference::to_f32(mask[weight]);
      grad_mask[weight] += g * reference::to_f32(input[from]);
    });
  });
}

// Products and additions of a pass over the neighborhoods.
int64_t ops(const Arguments& a) { return 2 * a[0].dim(3) * (a[1].count() / std::max(a.int32("group_size"), 1)); }

template <class Body>
mluOpStatus_t with_descriptor(const Arguments& a, const Body& body) {
  const CarafeDescriptor desc;
  const mluOpStatus_t status = mluOpSetCarafeDescriptor(desc, a.int32("dimnb"), a.int32("kernel_size"),
                                                        a.int32("group_size"), a.int32("scale_factor"));
  return status == MLUOP_STATUS_SUCCESS ? body(mluOpCarafeDescriptor_t{desc}) : status;
}

// Number of channels and of pixels follow from the input.
void fit(Case& c) {
  const Dims& input = c.inputs[0].dims;
  const bool is_forward = c.outputs.size() == 1;
  Dims pixels = c.inputs[1].dims;
  if (!is_forward) set_shape(c.outputs[1], pixels);
  pixels[3] = input[3];
  set_shape(c.outputs[0], is_forward ? pixels : input);
}

template <bool kForward>
Case make(const Recipe& r) {
  Case c = new_case(kForward ? "carafe_forward" : "carafe_backward", r);
  const int64_t k = 2 * r["radius"] + 1, scale = r["scale"];
  c.parameters.message = "carafe_param";
  c.parameters.set("dimnb", 4);
  c.parameters.set("kernel_size", k);
  c.parameters.set("group_size", r["groups"]);
  c.parameters.set("scale_factor", scale);
  const Dims input = {r["n"], r["h"], r["w"], r["channels"] * r["groups"]};
  const int64_t height = scale * r["h"], width = scale * r["w"];
  checked_product({r["n"], height, width, std::max(input[3], int64_t{1})});
  const Dims mask = {r["n"], height, width, checked_product({r["groups"], k, k})};
  c.inputs = {with_uniform(make_tensor("input", r.dtype, input, MLUOP_LAYOUT_NHWC), r.seed),
              with_uniform(make_tensor("mask", r.dtype, mask, MLUOP_LAYOUT_NHWC), r.seed + 1)};
  if (kForward) {
    c.outputs = {make_tensor("output", r.dtype, {}, MLUOP_LAYOUT_NHWC)};
  } else {
    c.inputs.push_back(with_uniform(
        make_tensor("grad_output", r.dtype, {r["n"], height, width, input[3]}, MLUOP_LAYOUT_NHWC), r.seed + 2));
    c.outputs = {make_tensor("grad_input", r.dtype, {}, MLUOP_LAYOUT_NHWC),
                 make_tensor("grad_mask", r.dtype, {}, MLUOP_LAYOUT_NHWC)};
  }
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> axes = {"image", "row", "column", "channel"};
  const TensorRule input{"input", Role::kInput, axes}, mask{"mask", Role::kInput, axes};
  Operator forward;
  forward.name = "carafe_forward";
  forward.function = "mluOpCarafeForward";
  forward.parameter_messages = {"carafe_param", "carafe_forward_param"};
  forward.tensors = {input, mask, {"output", Role::kOutput, axes}};
  forward.run = [](const Arguments& a) {
    return with_descriptor(a, [&](mluOpCarafeDescriptor_t desc) {
      return call(mluOpCarafeForward, a.handle, desc, a[0], a[1], a[2]);
    });
  };
  forward.expect = expect_forward;
  forward.terms = [](const Arguments& a) { return int64_t{a.int32("kernel_size")} * a.int32("kernel_size"); };
  forward.criteria = sum_criteria;
  forward.work = [](const Arguments& a) { return each_once(a, 2, ops(a)); };
  forward.multiplies = true;
  forward.sizes = {{"n", 2, 1, 3},
                   {"h", 5, 1, 20},
                   {"w", 6, 1, 40},
                   {"channels", 9, 1, 300},
                   {"groups", 2, 1, 3, false},
                   {"radius", 1, 0, 4, false},
                   {"scale", 2, 1, 4, false}};
  forward.parallel_sizes = {{{"n", 1}, {"h", 13}, {"w", 20}, {"channels", 64}, {"groups", 1}, {"radius", 2}}};
  // FPN_CARAFE of mmdetection on an image of 800 x 1333, and its mask head.
  forward.networks = {
      {"fpn 104x168 k5", {{"n", 1}, {"h", 104}, {"w", 168}, {"channels", 256}, {"groups", 1}, {"radius", 2}}},
      {"fpn 52x84 k5", {{"n", 1}, {"h", 52}, {"w", 84}, {"channels", 256}, {"groups", 1}, {"radius", 2}}},
      {"fpn 26x42 k5", {{"n", 1}, {"h", 26}, {"w", 42}, {"channels", 256}, {"groups", 1}, {"radius", 2}}},
      {"mask head 100x14x14 k5",
       {{"n", 100}, {"h", 14}, {"w", 14}, {"channels", 256}, {"groups", 1}, {"radius", 2}}}};
  forward.make = make<true>;
  forward.fit = fit;
  forward.reductions = {axis_reduction("images", {{0, 0}, {1, 0}}, {{0, 0}})};
  Operator backward = forward;
  backward.name = "carafe_backward";
  backward.function = "mluOpCarafeBackward";
  backward.parameter_messages = {"carafe_param", "carafe_backward_param"};
  backward.tensors = {input,
                      mask,
                      {"grad_output", Role::kInput, axes},
                      {"grad_input", Role::kOutput, axes},
                      {"grad_mask", Role::kOutput, axes}};
  backward.run = [](const Arguments& a) {
    return with_descriptor(a, [&](mluOpCarafeDescriptor_t desc) {
      return call(mluOpCarafeBackward, a.handle, desc, a[0], a[1], a[2], a[3], a[4]);
    });
  };
  backward.expect = expect_backward;
  backward.terms = [](const Arguments& a) {
    const int64_t k = a.int32("kernel_size"), scale = a.int32("scale_factor");
    return std::max(k * k * scale * scale, a[0].dim(3));
  };
  backward.work = [](const Arguments& a) { return each_once(a, 3, 2 * ops(a)); };
  backward.make = make<false>;
  backward.reductions = {axis_reduction("images", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}, {1, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::carafe
