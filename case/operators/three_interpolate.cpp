#include "case/description.h"
#include "reference/three_interpolate_backward.h"
#include "reference/three_interpolate_forward.h"

namespace mluop::cases::three_interpolate {
namespace {

// Where the oracle writes: the bits of the serial loop, or the sums in double.
template <bool kBits, class T>
auto* result_of(Operand& output) {
  if constexpr (kBits) {
    return output.as<T>();
  } else {
    return sums_of(output);
  }
}

template <bool kBits>
void expect_forward(Arguments& a) {
  with_element_type(a[0], [&]<class T>() {
    reference::three_interpolate_forward({a[3].dim(0), a[3].dim(1), a[0].dim(2), a[3].dim(2)}, a[0].as<const T>(),
                                         a[1].as<int32_t>(), a[2].as<const T>(), result_of<kBits, T>(a[3]));
  });
}

template <bool kBits>
void expect_backward(Arguments& a) {
  with_element_type(a[0], [&]<class T>() {
    reference::three_interpolate_backward({a[3].dim(0), a[3].dim(1), a[0].dim(2), a[3].dim(2)}, a[0].as<const T>(),
                                          a[1].as<int32_t>(), a[2].as<const T>(), result_of<kBits, T>(a[3]));
  });
}

// The outputs have the batches and channels of the first input. Their last dimension is N forward and M, which is
// kept, backward.
void fit_forward(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[0].dims[1], c.inputs[1].dims[1]});
}

void fit_backward(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[0].dims[1], c.outputs[0].dims.back()});
}

Case make(const Recipe& r, bool forward) {
  Case c = new_case(forward ? "three_interpolate_forward" : "three_interpolate_backward", r);
  const int64_t B = r["b"], C = r["c"], M = r["m"], N = r["n"];
  c.inputs = {
      with_uniform(make_tensor(forward ? "features" : "grad_output", r.dtype, {B, C, forward ? M : N}), r.seed),
      with_uniform(make_tensor("indices", MLUOP_DTYPE_INT32, {B, N, 3}), r.seed + 1, 0, static_cast<double>(M)),
      with_uniform(make_tensor("weights", r.dtype, {B, N, 3}), r.seed + 2, 0, 1)};
  c.outputs = {make_tensor(forward ? "output" : "grad_features", r.dtype, {B, C, forward ? N : M})};
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const TensorRule indices{"indices", Role::kInput, {"batch", "point", "slot"}};
  const TensorRule weights{"weights", Role::kInput, {"batch", "point", "slot"}};
  Operator forward;
  forward.name = "three_interpolate_forward";
  forward.function = "mluOpThreeInterpolateForward";
  forward.tensors = {{"features", Role::kInput, {"batch", "channel", "feature"}, {}, {2}},
                     indices,
                     weights,
                     {"output", Role::kOutput, {"batch", "channel", "point"}}};
  forward.run = [](const Arguments& a) {
    return call(mluOpThreeInterpolateForward, a.handle, a[0], a[1], a[2], a[3]);
  };
  forward.expect = expect_forward<false>;
  forward.expect_bits = expect_forward<true>;
  // Three products and two additions.
  forward.terms = [](const Arguments&) { return int64_t{3}; };
  forward.work = [](const Arguments& a) { return each_once(a, 3, 5 * a[3].count()); };
  forward.criteria = sum_criteria;
  forward.sizes = {{"b", 2, 1, 4}, {"c", 16, 1, 100}, {"m", 32, 1, 400}, {"n", 50, 1, 400}};
  forward.multiplies = true;
  forward.parallel_sizes = {{{"b", 2}, {"c", 20}, {"m", 90}, {"n", 1003}},
                            {{"b", 2}, {"c", 20}, {"m", 2003}, {"n", 403}}};
  forward.make = [](const Recipe& r) { return make(r, true); };
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("points", {{1, 1}, {2, 1}}, {{0, 2}}),
                        axis_reduction("channels", {{0, 1}}, {{0, 1}}),
                        axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}})};
  Operator backward = forward;
  backward.name = "three_interpolate_backward";
  backward.parallel_sizes = {{{"b", 2}, {"c", 20}, {"m", 90}, {"n", 1003}},
                             {{"b", 4}, {"c", 67}, {"m", 30}, {"n", 501}}};
  backward.function = "mluOpThreeInterpolateBackward";
  backward.tensors = {{"grad_output", Role::kInput, {"batch", "channel", "point"}},
                      indices,
                      weights,
                      {"grad_features", Role::kOutput, {"batch", "channel", "feature"}, {}, {2}}};
  backward.run = [](const Arguments& a) {
    return call(mluOpThreeInterpolateBackward, a.handle, a[0], a[1], a[2], a[3]);
  };
  backward.has_device_algorithm = true;
  backward.expect = expect_backward<false>;
  backward.expect_bits = expect_backward<true>;
  // All points may name the same feature.
  backward.terms = [](const Arguments& a) { return 3 * a[1].dim(1); };
  backward.work = [](const Arguments& a) { return each_once(a, 3, 2 * 3 * a[0].count()); };
  backward.make = [](const Recipe& r) { return make(r, false); };
  backward.fit = fit_backward;
  backward.reductions = {axis_reduction("points", {{0, 2}, {1, 1}, {2, 1}}),
                         axis_reduction("channels", {{0, 1}}, {{0, 1}}),
                         axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::three_interpolate
