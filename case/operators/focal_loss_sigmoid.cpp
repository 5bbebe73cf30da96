#include "reference/focal_loss_sigmoid.h"

#include "case/description.h"

namespace mluop::cases::focal_loss_sigmoid {
namespace {

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

template <class Function>
mluOpStatus_t run(Function* function, const Arguments& a) {
  return call(function, a.handle, static_cast<mluOpComputationPreference_t>(a.int32("prefer")),
              static_cast<mluOpLossReduction_t>(a.int32("reduction")), a[0], a[1], a[2], real(a, "alpha"),
              real(a, "gamma"), a[3]);
}

template <bool kIsDerivative>
void expect(Arguments& a) {
  const reference::FocalLossSigmoidProblem problem{a[0].dim(0),      a[0].dim(1),   real(a, "alpha"),
                                                   real(a, "gamma"), kIsDerivative, a[1].as<int32_t>()};
  with_element_type(a[0], [&]<class T>() {
    reference::focal_loss_sigmoid(problem, a[0].as<T>(), a[2].count() == 0 ? nullptr : a[2].as<T>(), a[3].as<T>());
  });
}

void fit(Case& c) { set_shape(c.outputs[0], c.inputs[0].dims); }

// One row in five is background.
Case make(const char* name, const char* output, const Recipe& r) {
  const int64_t N = r["n"], C = r["c"];
  checked_product({N, C}, int64_t{1} << 40);
  Case c = new_case(name, r, {"prefer"});
  c.parameters.set("reduction", MLUOP_LOSS_REDUCTION_NONE);
  c.parameters.set_real("alpha", static_cast<double>(r["alpha_eighths"]) / 8);
  c.parameters.set_real("gamma", static_cast<double>(r["gamma_halves"]) / 2);
  Tensor target = make_tensor("target", MLUOP_DTYPE_INT32, {N});
  if (N <= r.max_inline) {
    Integers random(r.seed + 1);
    std::vector<int32_t> values(static_cast<size_t>(N));
    for (int32_t& value : values) value = random.below(5) == 0 ? static_cast<int32_t>(C) : random.below(C);
    target = with_values(target, values);
  } else {
    target = with_uniform(target, r.seed + 1, 0, static_cast<double>(C + 1));
  }
  c.inputs = {with_uniform(make_tensor("input", r.dtype, {N, C}), r.seed, -8, 8), target};
  if (r["weighted"] != 0) c.inputs.push_back(with_uniform(make_tensor("weight", r.dtype, {C}), r.seed + 2, 0, 2));
  c.outputs = {make_tensor(output, r.dtype)};
  fit(c);
  return c;
}

Operator describe(const char* name, const char* function, const char* output) {
  Operator op;
  op.name = name;
  op.function = function;
  op.tensors = {{"input", Role::kInput, {"row", "class"}, kAnyLayout},
                {"target", Role::kInput, {"row"}, kAnyLayout},
                {"weight", Role::kInput, {"class"}, kAnyLayout},
                {output, Role::kOutput, {"row", "class"}, kAnyLayout}};
  op.tensors[2].is_optional = true;
  op.parameter_messages = {op.name + "_param"};
  // An exponential function, a logarithm and a division.
  op.work = [](const Arguments& a) { return each_once(a, 3, 50 * a[0].count()); };
  op.criteria = sum_criteria;
  op.multiplies = true;
  op.sizes = {{"n", 40, 1, 300},
              {"c", 9, 1, 100},
              {"weighted", 1, 0, 1, false},
              {"prefer", 1, 0, 1, false},
              {"alpha_eighths", 2, 0, 8, false},
              {"gamma_halves", 4, 0, 8, false}};
  op.parallel_sizes = {{{"n", 9000}, {"c", 10}}, {{"n", 90}, {"c", 2100}, {"weighted", 0}, {"gamma_halves", 3}}};
  op.fit = fit;
  op.reductions = {axis_reduction("rows", {{0, 0}, {1, 0}}, {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  Operator forward = describe("focal_loss_sigmoid_forward", "mluOpFocalLossSigmoidForward", "output");
  forward.run = [](const Arguments& a) { return run(mluOpFocalLossSigmoidForward, a); };
  forward.expect = expect<false>;
  forward.make = [](const Recipe& r) { return make("focal_loss_sigmoid_forward", "output", r); };
  Operator backward = describe("focal_loss_sigmoid_backward", "mluOpFocalLossSigmoidBackward", "grad_input");
  backward.run = [](const Arguments& a) { return run(mluOpFocalLossSigmoidBackward, a); };
  backward.expect = expect<true>;
  backward.make = [](const Recipe& r) { return make("focal_loss_sigmoid_backward", "grad_input", r); };
  return {forward, backward};
}

}  // namespace mluop::cases::focal_loss_sigmoid
