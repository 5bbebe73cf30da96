#include "reference/adamw.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "case/api.h"
#include "case/description.h"

namespace mluop::cases::adamw {
namespace {

enum : size_t { kParam, kParamh, kMomentum, kVelocity, kGrad };

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

mluOpStatus_t run(const Arguments& a) {
  const AdamWDescriptor desc;
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  const auto set = [&](mluOpAdamWDescAttribute_t attr, const auto& value) {
    if (status == MLUOP_STATUS_SUCCESS) status = mluOpSetAdamWDescAttr(desc, attr, &value, sizeof(value));
  };
  set(MLUOP_ADAMW_WEIGHT_DECAY, real(a, "weight_decay"));
  set(MLUOP_ADAMW_GRAD_SCALE, real(a, "scale"));
  set(MLUOP_ADAMW_USE_NESTEROV, a.int32("use_nesterov") != 0);
  set(MLUOP_ADAMW_NEED_REMOVE_NAN, a.int32("need_remove_nan") != 0);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return call(mluOpAdamW, a.handle, mluOpAdamWDescriptor_t{desc}, a[kParam], a[kParamh], a[kMomentum],
              a[kVelocity], a[kGrad], real(a, "lr"), real(a, "beta1"), real(a, "beta2"), real(a, "bias1"),
              real(a, "bias2"), real(a, "epsilon"));
}

void expect(Arguments& a) {
  reference::AdamWProblem problem{a[kParam].count(),  real(a, "lr"),
                                  real(a, "beta1"),   real(a, "beta2"),
                                  real(a, "bias1"),   real(a, "bias2"),
                                  real(a, "epsilon"), real(a, "weight_decay"),
                                  real(a, "scale"),   a.int32("need_remove_nan") != 0};
  auto *const param = a[kParam].as<float>(), *const momentum = a[kMomentum].as<float>(),
              *const velocity = a[kVelocity].as<float>();
  if (!problem.removes_nan) {
    return reference::adamw(problem, a[kGrad].as<reference::BFloat16>(), param, momentum, velocity,
                            a[kParamh].as<reference::BFloat16>());
  }
  float& step = *a[kParamh].as<float>();
  problem.bias1 = static_cast<float>(1 - std::pow(double{problem.beta1}, double{step}));
  problem.bias2 = static_cast<float>(1 - std::pow(double{problem.beta2}, double{step}));
  reference::adamw(problem, a[kGrad].as<float>(), param, momentum, velocity, nullptr);
  step += 1;
  if (std::isinf(step)) step = std::numeric_limits<float>::max();
}

// Each element is read once, and written once except the gradient; the rounded parameters are not read.
Work work(const Arguments& a) {
  const int64_t updated = a[kParam].bytes() + a[kMomentum].bytes() + a[kVelocity].bytes();
  return {updated + a[kGrad].bytes(), updated + a[kParamh].bytes(), 17 * a[kParam].count()};
}

Case make(const Recipe& r) {
  Case c = new_case("adam_w", r);
  const Dims dims = {r["rows"], r["columns"]};
  checked_product({r["rows"], r["columns"]});
  const bool removes_nan = r["remove_nan"] != 0;
  c.parameters.message = "adamw_param";
  const std::pair<const char*, double> reals[] = {{"lr", 0x1p-7},          {"beta1", 0.875},  {"beta2", 0.9375},
                                                  {"bias1", 0.25},         {"bias2", 0.0625}, {"epsilon", 0x1p-20},
                                                  {"weight_decay", 0.125}, {"scale", 2}};
  for (const auto& [name, value] : reals) c.parameters.set_real(name, value);
  c.parameters.set("use_nesterov", 0);
  c.parameters.set("need_remove_nan", removes_nan ? 1 : 0);
  // Steps without and with an infinite successor.
  constexpr float kSteps[] = {1,
                              0,
                              3,
                              0.5F,
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
  const Tensor step = with_numbers(make_tensor("paramh", MLUOP_DTYPE_FLOAT, {1}),
                                   {kSteps[static_cast<size_t>(r["step"]) % std::size(kSteps)]});
  const auto rounded = MLUOP_DTYPE_BFLOAT16;
  c.inputs = {with_uniform(make_tensor("param", r.dtype, dims), r.seed),
              removes_nan ? step : with_uniform(make_tensor("paramh", rounded, dims), r.seed + 1),
              with_uniform(make_tensor("momentum", r.dtype, dims), r.seed + 2),
              with_uniform(make_tensor("velocity", r.dtype, dims), r.seed + 3, 0, 1),
              with_uniform(make_tensor("grad", removes_nan ? r.dtype : rounded, dims), r.seed + 4)};
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> axes = {"row", "column"};
  Operator op;
  op.name = "adam_w";
  op.aliases = {"adamw"};
  op.function = "mluOpAdamW";
  op.parameter_messages = {"adamw_param", "adam_w_param"};
  const auto tensor = [&](const char* id, Role role) {
    return TensorRule{.id = id, .role = role, .axes = axes, .other_layouts = kAnyLayout, .has_any_rank = true};
  };
  op.tensors = {tensor("param", Role::kInOut), tensor("paramh", Role::kInOut), tensor("momentum", Role::kInOut),
                tensor("velocity", Role::kInOut), tensor("grad", Role::kInput)};
  op.run = run;
  op.expect = expect;
  op.work = work;
  op.multiplies = true;
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {
      {"rows", 7, 1, 60}, {"columns", 9, 1, 300}, {"remove_nan", 0, 0, 1, false}, {"step", 0, 0, 6, false}};
  op.parallel_sizes = {{{"rows", 200}, {"columns", 150}}, {{"rows", 200}, {"columns", 150}, {"remove_nan", 1}}};
  // Layers of networks; MLU-OPS measures these sizes.
  op.networks = {{"2048x512", {{"rows", 2048}, {"columns", 512}}},
                 {"2048x512 remove NaN", {{"rows", 2048}, {"columns", 512}, {"remove_nan", 1}}},
                 {"512x512", {{"rows", 512}, {"columns", 512}}},
                 {"999x144", {{"rows", 999}, {"columns", 144}}},
                 {"2048", {{"rows", 1}, {"columns", 2048}}},
                 {"512", {{"rows", 1}, {"columns", 512}}},
                 {"16384x512", {{"rows", 16384}, {"columns", 512}}}};
  op.make = make;
  op.fit = [](Case&) {};
  return {op};
}

}  // namespace mluop::cases::adamw
