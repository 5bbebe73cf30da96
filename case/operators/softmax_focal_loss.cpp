#include "reference/softmax_focal_loss.h"

#include <algorithm>

#include "case/description.h"

namespace mluop::cases::softmax_focal_loss {
namespace {

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

void expect(Arguments& a) {
  const bool is_backward = a.tensors.size() == 5;
  const reference::SoftmaxFocalLossProblem problem{a[0].dim(0),      a[0].dim(1), real(a, "alpha"),
                                                   real(a, "gamma"), is_backward, a[1].as<int32_t>()};
  with_element_type(a[0], [&]<class T>() {
    reference::softmax_focal_loss(problem, a[0].as<T>(), a[2].count() == 0 ? nullptr : a[2].as<T>(), a[3].as<T>(),
                                  is_backward ? a[4].as<T>() : nullptr);
  });
}

void fit(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0]});
  if (c.outputs.size() == 2) set_shape(c.outputs[1], c.inputs[0].dims);
}

// Cases that state their elements have probabilities that are multiples of 1/64, also 0 and 1; one row in five has
// no class.
Case make(const char* name, const Recipe& r, const std::vector<const char*>& outputs) {
  const int64_t N = r["n"], C = r["c"], count = checked_product({N, C}, int64_t{1} << 40);
  Case c = new_case(name, r);
  c.parameters.message = std::string(name) + "_param";
  c.parameters.set_real("alpha", static_cast<double>(r["alpha_eighths"]) / 8);
  c.parameters.set_real("gamma", static_cast<double>(r["gamma_halves"]) / 2);
  Tensor softmax = make_tensor("softmax", r.dtype, {N, C}), target = make_tensor("target", MLUOP_DTYPE_INT32, {N});
  if (N + count <= r.max_inline) {
    Integers random(r.seed);
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) number = static_cast<float>(random.below(65)) / 64;
    std::vector<int32_t> classes(static_cast<size_t>(N));
    for (int32_t& each : classes) each = C == 0 || random.below(5) == 0 ? -1 : random.below(C);
    c.inputs = {with_numbers(softmax, numbers), with_values(target, classes)};
  } else {
    c.inputs = {with_uniform(softmax, r.seed, 0, 1),
                with_uniform(target, r.seed + 1, -1, C == 0 ? -1 : static_cast<double>(C))};
  }
  if (r["weighted"] != 0) c.inputs.push_back(with_uniform(make_tensor("weight", r.dtype, {C}), r.seed + 2, 0, 2));
  for (const char* const output : outputs) c.outputs.push_back(make_tensor(output, r.dtype));
  fit(c);
  return c;
}

Operator describe(const char* name, const char* function) {
  Operator op;
  op.name = name;
  op.function = function;
  op.tensors = {{"softmax", Role::kInput, {"row", "class"}, kAnyLayout},
                {"target", Role::kInput, {"row"}, kAnyLayout},
                {"weight", Role::kInput, {"class"}, kAnyLayout}};
  op.tensors[2].is_optional = true;
  op.parameter_messages = {op.name + "_param"};
  op.expect = expect;
  op.criteria = sum_criteria;
  op.multiplies = true;
  op.sizes = {{"n", 40, 1, 300},
              {"c", 9, 1, 100},
              {"weighted", 1, 0, 1, false},
              {"alpha_eighths", 2, 0, 8, false},
              {"gamma_halves", 4, 0, 8, false}};
  op.parallel_sizes = {{{"n", 9000}, {"c", 10}}, {{"n", 300}, {"c", 700}, {"weighted", 0}, {"gamma_halves", 1}}};
  // Classes of COCO and background, on 800 x 1216 pixels: all levels of a feature pyramid, and a small one.
  op.networks = {{"fpn 242991x81", {{"n", 242991}, {"c", 81}, {"weighted", 0}}},
                 {"2520x81", {{"n", 2520}, {"c", 81}, {"weighted", 0}}}};
  op.fit = fit;
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  Operator forward = describe("softmax_focal_loss_forward", "mluOpOmpSoftmaxFocalLossForward");
  // Without weights, no other argument has the number of classes.
  forward.tensors[0].free_dims = {1};
  forward.tensors.push_back({"output", Role::kOutput, {"row"}, kAnyLayout});
  // Reads a cache line and computes a logarithm and a power for each row.
  forward.work = [](const Arguments& a) {
    const int64_t N = a[3].count();
    const int64_t line = std::min<int64_t>(static_cast<int64_t>(element_size(a[0].dtype)) * a[0].dim(1), 64);
    return Work{N * line + a[1].bytes(), a[3].bytes(), 50 * N};
  };
  forward.run = [](const Arguments& a) {
    return call(mluOpOmpSoftmaxFocalLossForward, a.handle, a[0], a[1], a[2], real(a, "alpha"), real(a, "gamma"),
                a[3]);
  };
  forward.make = [](const Recipe& r) { return make("softmax_focal_loss_forward", r, {"output"}); };
  forward.reductions = {axis_reduction("rows", {{0, 0}, {1, 0}}, {{0, 0}})};
  Operator backward = describe("softmax_focal_loss_backward", "mluOpOmpSoftmaxFocalLossBackward");
  backward.tensors.push_back({"buff", Role::kOutput, {"row"}, kAnyLayout});
  backward.tensors.push_back({"grad_input", Role::kOutput, {"row", "class"}, kAnyLayout});
  backward.work = [](const Arguments& a) { return each_once(a, 3, 50 * a[3].count() + a[4].count()); };
  backward.run = [](const Arguments& a) {
    return call(mluOpOmpSoftmaxFocalLossBackward, a.handle, a[0], a[1], a[2], real(a, "alpha"), real(a, "gamma"),
                a[3], a[4]);
  };
  backward.make = [](const Recipe& r) { return make("softmax_focal_loss_backward", r, {"buff", "grad_input"}); };
  backward.reductions = {axis_reduction("rows", {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::softmax_focal_loss
