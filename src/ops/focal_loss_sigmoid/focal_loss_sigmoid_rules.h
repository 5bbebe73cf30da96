// Sigmoid focal loss: declarations and rules shared by both operators.
#pragma once

#include "core/tensor.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid.h"
#include "team/operator_call.h"

namespace mluop::focal_loss_sigmoid {

struct Parameters {
  mluOpComputationPreference_t prefer;
  mluOpLossReduction_t reduction;
  float alpha, gamma;
  float max_gamma;
};

inline void check(const Parameters& p) {
  constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
  const auto require_enumerator = [](std::string_view name, int value) {
    require(0 <= value && value <= 2, MLUOP_STATUS_BAD_PARAM, name, " is ", value, ", expected 0 to 2");
  };
  require_enumerator("prefer", p.prefer);
  require_enumerator("reduction", p.reduction);
  require(p.prefer != MLUOP_COMPUTATION_ULTRAHIGH_PRECISION, kNotSupported,
          "prefer is MLUOP_COMPUTATION_ULTRAHIGH_PRECISION (2), expected 0 or 1");
  require(p.reduction == MLUOP_LOSS_REDUCTION_NONE, kNotSupported, "reduction is ", static_cast<int>(p.reduction),
          ", expected MLUOP_LOSS_REDUCTION_NONE (0)");
  // Rejects NaN too.
  require(0 <= p.gamma && p.gamma <= p.max_gamma, kNotSupported, "gamma is ", p.gamma, ", expected 0 to ",
          p.max_gamma);
}

// Declares and checks all arguments.
inline Args check_arguments(Call& call, const Parameters& p, Input input, Input target, Input weight,
                            std::string_view output_name, Output output) {
  const auto dtype = dtype_of(input.desc);
  const int64_t N = dim_of(input.desc, 0), C = dim_of(input.desc, 1);
  call.parameter("prefer", int64_t{p.prefer});
  call.parameter("reduction", int64_t{p.reduction});
  call.parameter("alpha", p.alpha);
  call.parameter("gamma", p.gamma);
  call.input("input", input.desc, input.data, dtype, kAnyLayout, {kAny, kAny});
  call.input("target", target.desc, target.data, MLUOP_DTYPE_INT32, kAnyLayout, {N});
  const void* const weights = call.optional_input("weight", weight, dtype, kAnyLayout, {C});
  call.output(output_name, output.desc, output.data, dtype, kAnyLayout, {N, C});
  if (has_no_elements(input.desc)) call.reads_nothing();

  call.check_pointers();
  check(p);
  require_element_type("input", dtype);
  call.check_tensors();
  return {N,       C,          p.alpha, p.gamma, dtype, input.data, static_cast<const int32_t*>(target.data),
          weights, output.data};
}

}  // namespace mluop::focal_loss_sigmoid
