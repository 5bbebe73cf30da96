// Multi-scale deformable attention: declarations and rules shared by both operators.
#pragma once

#include <algorithm>

#include "core/tensor.h"
#include "ops/ms_deform_attn/ms_deform_attn.h"
#include "team/operator_call.h"

namespace mluop::ms_deform_attn {

// A tensor, and the name of its parameter.
struct Named {
  std::string_view name;
  Input tensor;
};

struct PassedInputs {
  Named value, shapes, starts, locations, weights;
};

inline Sizes sizes_of(const PassedInputs& inputs) {
  const TensorDescriptor *value = inputs.value.tensor.desc, *locations = inputs.locations.tensor.desc;
  return {dim_of(value, 0),
          dim_of(value, 1),
          dim_of(value, 2),
          dim_of(value, 3),
          dim_of(inputs.shapes.tensor.desc, 0),
          dim_of(locations, 1),
          dim_of(locations, 4)};
}

inline void declare(Call& call, const PassedInputs& inputs, const Sizes& s, int im2col_step) {
  const auto input = [&](const Named& named, mluOpDataType_t dtype, std::initializer_list<int64_t> shape) {
    call.input(named.name, named.tensor.desc, named.tensor.data, dtype, kAnyLayout, shape);
  };
  call.parameter("im2col_step", im2col_step, AtLeast{1});
  input(inputs.value, MLUOP_DTYPE_FLOAT, {kAny, kAny, kAny, kAny});
  input(inputs.shapes, MLUOP_DTYPE_INT32, {kAny, 2});
  input(inputs.starts, MLUOP_DTYPE_INT32, {s.L});
  input(inputs.locations, MLUOP_DTYPE_FLOAT, {s.B, kAny, s.M, s.L, kAny, 2});
  input(inputs.weights, MLUOP_DTYPE_FLOAT, {s.B, s.Q, s.M, s.L, s.P});
}

// Call it after all tensors are declared.
inline void check(Call& call, const PassedInputs& inputs, const Sizes& s, int im2col_step) {
  call.check_pointers();
  call.check_parameters();
  call.check_tensors();
  const auto require_extent = [](const Named& named, int dim, int64_t extent) {
    require(extent > 0, MLUOP_STATUS_BAD_PARAM, named.name, " dim ", dim, " is ", extent, ", expected at least 1");
  };
  require_extent(inputs.value, 0, s.B);
  require_extent(inputs.value, 2, s.M);
  require_extent(inputs.value, 3, s.D);
  require_extent(inputs.locations, 1, s.Q);
  require(s.B % std::min<int64_t>(s.B, im2col_step) == 0, MLUOP_STATUS_BAD_PARAM, "im2col_step is ", im2col_step,
          ", expected a divisor of the batch size ", s.B, ", or a larger number");
  const auto* const shapes = static_cast<const int32_t*>(inputs.shapes.tensor.data);
  const auto* const starts = static_cast<const int32_t*>(inputs.starts.tensor.data);
  for (int64_t l = 0; l < s.L; ++l) {
    for (const int64_t i : {0, 1}) {
      require(shapes[2 * l + i] >= 0, MLUOP_STATUS_BAD_PARAM, inputs.shapes.name, "[", l, ", ", i, "] is ",
              shapes[2 * l + i], ", expected at least 0");
    }
    const int64_t keys = int64_t{shapes[2 * l]} * shapes[2 * l + 1];
    require(starts[l] >= 0 && starts[l] <= s.K - keys, MLUOP_STATUS_BAD_PARAM, inputs.starts.name, "[", l, "] is ",
            starts[l], ", expected 0 to ", s.K - keys, ": the level has ", keys, " of ", s.K, " keys");
  }
}

inline Inputs checked_inputs(const PassedInputs& inputs, const Sizes& sizes) {
  const auto floats = [](const Named& named) { return static_cast<const float*>(named.tensor.data); };
  const auto integers = [](const Named& named) { return static_cast<const int32_t*>(named.tensor.data); };
  return {sizes,
          floats(inputs.value),
          integers(inputs.shapes),
          integers(inputs.starts),
          floats(inputs.locations),
          floats(inputs.weights)};
}

}  // namespace mluop::ms_deform_attn
