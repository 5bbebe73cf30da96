#include <algorithm>
#include <array>
#include <map>

#include "case/description.h"

namespace mluop::cases::correlation {
namespace {

// An axis: 'h' or 'w'.
struct Axis {
  Axis(const Parameters& parameters, char name, int64_t pixels) : size(pixels) {
    const auto of = [&](const std::string& parameter) { return parameters.integer(parameter + "_" + name); };
    kernel = of("kernel"), patch = of("patch"), pad = of("pad"), dilation = of("dilation");
    dilation_patch = of("dilation_patch"), stride = of("stride");
    const int64_t room = size + 2 * pad - (kernel - 1) * dilation - 1;
    output_size = room < 0 ? 0 : room / std::max<int64_t>(stride, 1) + 1;
  }
  // Calls visit(p, h, i1, i2) for the products along the axis.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (int64_t p = 0; p < patch; ++p) {
      for (int64_t h = 0; h < output_size; ++h) {
        for (int64_t i = 0; i < kernel; ++i) {
          const int64_t i1 = h * stride - pad + i * dilation, i2 = i1 + (p - (patch - 1) / 2) * dilation_patch;
          if (std::min(i1, i2) >= 0 && std::max(i1, i2) < size) visit(p, h, i1, i2);
        }
      }
    }
  }

  int64_t size, output_size, kernel, patch, pad, dilation, dilation_patch, stride;
};

// Calls visit(output element, first element of pixels of input1 and of input2) for all products of pixels.
template <class Visit>
void for_each_product(const Arguments& a, const Operand& image, const Visit& visit) {
  const Axis y(*a.parameters, 'h', image.dim(1)), x(*a.parameters, 'w', image.dim(2));
  for (int64_t n = 0; n < image.dim(0); ++n) {
    y.for_each([&](int64_t p, int64_t h, int64_t i1, int64_t i2) {
      x.for_each([&](int64_t q, int64_t w, int64_t j1, int64_t j2) {
        const auto pixel = [&](int64_t i, int64_t j) { return ((n * y.size + i) * x.size + j) * image.dim(3); };
        visit((((n * y.patch + p) * x.patch + q) * y.output_size + h) * x.output_size + w, pixel(i1, j1),
              pixel(i2, j2));
      });
    });
  }
}

void expect_forward(Arguments& a) {
  double* const output = sums_of(a[2]);
  with_element_type(a[0], [&]<class T>() {
    const T *input1 = a[0].as<const T>(), *input2 = a[1].as<const T>();
    for_each_product(a, a[0], [&](int64_t to, int64_t first, int64_t second) {
      for (int64_t c = 0; c < a[0].dim(3); ++c) {
        output[to] +=
            static_cast<double>(reference::to_f32(input1[first + c])) * reference::to_f32(input2[second + c]);
      }
    });
  });
}

void expect_backward(Arguments& a) {
  double* const gradients[] = {sums_of(a[3]), sums_of(a[4])};
  if (a[1].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    const T *grad = a[0].as<const T>(), *input1 = a[1].as<const T>(), *input2 = a[2].as<const T>();
    // The gradients of each displacement (n, p, q) of a pixel of input1, by the elements of both pixels.
    std::map<std::array<int64_t, 3>, double> weights;
    const int64_t plane = a[0].dim(3) * a[0].dim(4);
    for_each_product(a, a[1], [&](int64_t from, int64_t first, int64_t second) {
      weights[{from / plane, first, second}] += reference::to_f32(grad[from]);
    });
    for (const auto& [key, weight] : weights) {
      const auto [displacement, first, second] = key;
      for (int64_t c = 0; c < a[1].dim(3); ++c) {
        gradients[0][first + c] += weight * reference::to_f32(input2[second + c]);
        gradients[1][second + c] += weight * reference::to_f32(input1[first + c]);
      }
    }
  });
}

int64_t area(const Arguments& a, const std::string& name) {
  return a.integer(name + "_h") * a.integer(name + "_w");
}

Dims output_shape(const Case& c, const Dims& image) {
  const Axis y(c.parameters, 'h', image[1]), x(c.parameters, 'w', image[2]);
  return {image[0], y.patch, x.patch, y.output_size, x.output_size};
}

void fit(Case& c) {
  const Dims image = c.inputs.back().dims;
  const bool is_forward = c.outputs.size() == 1;
  for (Tensor& output : c.outputs) set_shape(output, is_forward ? output_shape(c, image) : image);
}

template <bool kForward>
Case make(const Recipe& r) {
  Case c = new_case(kForward ? "correlation_forward" : "correlation_backward", r);
  c.parameters.message = c.op_name + "_param";
  for (const char* axis : {"_h", "_w"}) {
    for (const char* name : {"kernel", "pad", "dilation", "dilation_patch", "stride"}) {
      c.parameters.set(std::string(name) + axis, r[name]);
    }
    c.parameters.set(std::string("patch") + axis, 2 * r[std::string("radius") + axis] + 1);
  }
  const Dims image = {r["n"], r["h"], r["w"], r["c"]}, output = output_shape(c, image);
  checked_product({std::max<int64_t>(r["n"], 1), output[1], output[2], output[3], output[4]});
  const auto input = [&](const char* id, int32_t seed) {
    return with_uniform(make_tensor(id, r.dtype, image, MLUOP_LAYOUT_NHWC), seed);
  };
  c.inputs = {input("input1", r.seed), input("input2", r.seed + 1)};
  if (kForward) {
    c.outputs = {make_tensor("output", r.dtype)};
  } else {
    c.inputs.insert(c.inputs.begin(), with_uniform(make_tensor("grad_output", r.dtype, output), r.seed + 2));
    for (const char* id : {"grad_input1", "grad_input2"}) {
      c.outputs.push_back(make_tensor(id, r.dtype, {}, MLUOP_LAYOUT_NHWC));
    }
  }
  fit(c);
  return c;
}

template <class Function, class... Tensors>
mluOpStatus_t run(Function function, const Arguments& a, const Tensors&... tensors) {
  const auto of = [&](const char* name) { return a.int32(name); };
  return call(function, a.handle, of("kernel_h"), of("kernel_w"), of("patch_h"), of("patch_w"), of("pad_h"),
              of("pad_w"), of("dilation_h"), of("dilation_w"), of("dilation_patch_h"), of("dilation_patch_w"),
              of("stride_h"), of("stride_w"), tensors...);
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> axes = {"image", "row", "column", "channel"},
                                 outputs = {"image", "row shift", "column shift", "row", "column"};
  const TensorRule input1{"input1", Role::kInput, axes}, input2{"input2", Role::kInput, axes};
  Operator forward;
  forward.name = "correlation_forward";
  forward.function = "mluOpOmpCorrelationForward";
  forward.parameter_messages = {"correlation_forward_param"};
  forward.tensors = {input1, input2, {"output", Role::kOutput, outputs}};
  forward.run = [](const Arguments& a) { return run(mluOpOmpCorrelationForward, a, a[0], a[1], a[2]); };
  forward.expect = expect_forward;
  forward.terms = [](const Arguments& a) { return area(a, "kernel") * a[0].dim(3) + 1; };
  forward.criteria = sum_criteria;
  forward.work = [](const Arguments& a) {
    return each_once(a, 2, 2 * area(a, "kernel") * a[2].count() * a[0].dim(3));
  };
  forward.multiplies = true;
  forward.sizes = {{"n", 2, 1, 3},
                   {"h", 6, 1, 20},
                   {"w", 7, 1, 30},
                   {"c", 5, 1, 70},
                   {"radius_h", 1, 0, 4, false},
                   {"radius_w", 2, 0, 5, false},
                   {"kernel", 1, 1, 3, false},
                   {"pad", 1, 0, 3, false},
                   {"dilation", 1, 1, 2, false},
                   {"dilation_patch", 1, 1, 3, false},
                   {"stride", 1, 1, 3, false}};
  forward.parallel_sizes = {
      {{"n", 1}, {"h", 20}, {"w", 24}, {"c", 48}, {"radius_h", 3}, {"radius_w", 4}, {"pad", 0}}};
  // FlowNetC and PWC-Net of mmflow.
  const auto network = [](const char* name, int64_t c, int64_t h, int64_t w, int64_t radius, int64_t apart) {
    return NetworkSize{name,
                       {{"n", 1},
                        {"h", h},
                        {"w", w},
                        {"c", c},
                        {"radius_h", radius},
                        {"radius_w", radius},
                        {"pad", 0},
                        {"dilation_patch", apart}}};
  };
  forward.networks = {network("flownetc 256x48x56", 256, 48, 56, 10, 2),
                      network("pwcnet 32x96x112", 32, 96, 112, 4, 1), network("pwcnet 64x48x56", 64, 48, 56, 4, 1),
                      network("pwcnet 196x6x7", 196, 6, 7, 4, 1)};
  forward.make = make<true>;
  forward.fit = fit;
  forward.reductions = {axis_reduction("channels", {{0, 3}, {1, 3}}),
                        axis_reduction("images", {{0, 0}, {1, 0}}, {{0, 0}})};
  Operator backward = forward;
  backward.name = "correlation_backward";
  backward.function = "mluOpOmpCorrelationBackward";
  backward.parameter_messages = {"correlation_backward_param"};
  backward.tensors = {{"grad_output", Role::kInput, outputs},
                      input1,
                      input2,
                      {"grad_input1", Role::kOutput, axes},
                      {"grad_input2", Role::kOutput, axes}};
  backward.run = [](const Arguments& a) {
    return run(mluOpOmpCorrelationBackward, a, a[0], a[1], a[2], a[3], a[4]);
  };
  backward.expect = expect_backward;
  backward.terms = [](const Arguments& a) { return area(a, "kernel") * area(a, "patch") + 1; };
  backward.work = [](const Arguments& a) { return each_once(a, 3, 4 * a[0].count() * a[1].dim(3)); };
  backward.make = make<false>;
  backward.reductions = {axis_reduction("channels", {{1, 3}, {2, 3}}, {{0, 3}, {1, 3}}),
                         axis_reduction("images", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}, {1, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::correlation
