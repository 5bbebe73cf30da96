#include "case/operators/support.h"
#include "reference/three_interpolate_backward.h"
#include "reference/three_interpolate_forward.h"

namespace mluop::cases {
namespace {

std::vector<Criterion> criteria(const Operand&, mluOpOmpAlgorithm_t) { return mean_errors(3e-3); }

// Three products and two additions.
Work forward_work(const Arguments& a) {
  return {a[0].bytes() + a[1].bytes() + a[2].bytes(), a[3].bytes(), 5 * a[3].count()};
}

Work backward_work(const Arguments& a) {
  return {a[0].bytes() + a[1].bytes() + a[2].bytes(), a[3].bytes(), 2 * 3 * a[0].count()};
}

int64_t terms_forward(const Arguments&) { return 3; }
// All points may name one feature.
int64_t terms_backward(const Arguments& a) { return 3 * a[1].dim(1); }

mluOpStatus_t run_forward(const Arguments& a) {
  return mluOpThreeInterpolateForward(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc, a[2].data,
                                      a[3].desc, a[3].data);
}

mluOpStatus_t run_backward(const Arguments& a) {
  return mluOpThreeInterpolateBackward(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc, a[2].data,
                                       a[3].desc, a[3].data);
}

// The sums in double, or in the bits of the serial loop.
template <bool kBits>
void expect_forward(Arguments& a) {
  with_element_type(a[0], [&](auto element) {
    using T = decltype(element);
    const reference::ThreeInterpolateForwardSizes sizes{a[3].dim(0), a[3].dim(1), a[0].dim(2), a[3].dim(2)};
    const auto interpolate = [&](auto* output) {
      reference::three_interpolate_forward(sizes, a[0].as<T>(), a[1].as<int32_t>(), a[2].as<T>(), output);
    };
    if constexpr (kBits) {
      interpolate(a[3].as<T>());
    } else {
      interpolate(sums_of(a[3]));
    }
  });
}

template <bool kBits>
void expect_backward(Arguments& a) {
  with_element_type(a[0], [&](auto element) {
    using T = decltype(element);
    const reference::ThreeInterpolateBackwardSizes sizes{a[3].dim(0), a[3].dim(1), a[0].dim(2), a[3].dim(2)};
    const auto interpolate = [&](auto* grad_features) {
      reference::three_interpolate_backward(sizes, a[0].as<T>(), a[1].as<int32_t>(), a[2].as<T>(), grad_features);
    };
    if constexpr (kBits) {
      interpolate(a[3].as<T>());
    } else {
      interpolate(sums_of(a[3]));
    }
  });
}

// The outputs have the batches and channels of the first input. Their last dimension is N forward; backward it is
// M, which is kept.
void fit_forward(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[0].dims[1], c.inputs[1].dims[1]});
}

void fit_backward(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[0].dims[1], c.outputs[0].dims.back()});
}

Case make(const Recipe& r, bool forward) {
  Case c;
  c.op_name = forward ? "three_interpolate_forward" : "three_interpolate_backward";
  const int64_t B = r["b"], C = r["c"], M = r["m"], N = r["n"];
  c.inputs = {
      with_uniform(make_tensor(forward ? "features" : "grad_output", r.dtype, {B, C, forward ? M : N}), r.seed),
      with_uniform(make_tensor("indices", MLUOP_DTYPE_INT32, {B, N, 3}), r.seed + 1, 0, static_cast<double>(M)),
      with_uniform(make_tensor("weights", r.dtype, {B, N, 3}), r.seed + 2, 0, 1)};
  c.outputs = {make_tensor(forward ? "output" : "grad_features", r.dtype, {B, C, forward ? N : M})};
  return c;
}

Case make_forward(const Recipe& r) { return make(r, true); }
Case make_backward(const Recipe& r) { return make(r, false); }

}  // namespace

std::vector<Operator> three_interpolate_operators() {
  const TensorRule indices{"indices", Role::kInput, {"batch", "point", "slot"}};
  const TensorRule weights{"weights", Role::kInput, {"batch", "point", "slot"}};
  Operator forward;
  forward.name = "three_interpolate_forward";
  forward.function = "mluOpThreeInterpolateForward";
  forward.tensors = {{"features", Role::kInput, {"batch", "channel", "feature"}, {}, {2}},
                     indices,
                     weights,
                     {"output", Role::kOutput, {"batch", "channel", "point"}}};
  forward.run = run_forward;
  forward.expect = expect_forward<false>;
  forward.expect_bits = expect_forward<true>;
  forward.terms = terms_forward;
  forward.work = forward_work;
  forward.criteria = criteria;
  forward.sizes = {{"b", 2, 1, 4}, {"c", 16, 1, 100}, {"m", 32, 1, 400}, {"n", 50, 1, 400}};
  forward.make = make_forward;
  forward.reductions = {axis_reduction("points", {{1, 1}, {2, 1}}, fit_forward),
                        axis_reduction("channels", {{0, 1}}, fit_forward),
                        axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}}, fit_forward)};
  Operator backward = forward;
  backward.name = "three_interpolate_backward";
  backward.function = "mluOpThreeInterpolateBackward";
  backward.tensors = {{"grad_output", Role::kInput, {"batch", "channel", "point"}},
                      indices,
                      weights,
                      {"grad_features", Role::kOutput, {"batch", "channel", "feature"}, {}, {2}}};
  backward.run = run_backward;
  backward.has_device_algorithm = true;
  backward.expect = expect_backward<false>;
  backward.expect_bits = expect_backward<true>;
  backward.terms = terms_backward;
  backward.work = backward_work;
  backward.make = make_backward;
  backward.reductions = {axis_reduction("points", {{0, 2}, {1, 1}, {2, 1}}, fit_backward),
                         axis_reduction("channels", {{0, 1}}, fit_backward),
                         axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}}, fit_backward)};
  return {forward, backward};
}

}  // namespace mluop::cases
