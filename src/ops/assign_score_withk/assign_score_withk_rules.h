// Assign score with k: declarations and rules shared by both operators.
#pragma once

#include "core/tensor.h"
#include "ops/assign_score_withk/assign_score_withk.h"
#include "team/operator_call.h"

namespace mluop::assign_score_withk {

struct PassedInputs {
  Input points, centers, scores, knn_idx;
};

// Sizes taken from points and scores. Null-safe.
inline Sizes sizes_of(const PassedInputs& inputs) {
  const TensorDescriptor *points = inputs.points.desc, *scores = inputs.scores.desc;
  return {dim_of(points, 0), dim_of(points, 1), dim_of(scores, 1),
          dim_of(points, 2), dim_of(scores, 2), dim_of(points, 3)};
}

inline void declare(Call& call, const PassedInputs& inputs, const Sizes& sizes) {
  const auto array = MLUOP_LAYOUT_ARRAY;
  const auto dtype = dtype_of(inputs.points.desc);
  const auto [B, N0, N1, M, K, O] = sizes;
  call.input("points", inputs.points.desc, inputs.points.data, dtype, array, {kAny, kAny, kAny, kAny});
  call.input("centers", inputs.centers.desc, inputs.centers.data, dtype, array, {B, N0, M, O});
  call.input("scores", inputs.scores.desc, inputs.scores.data, dtype, array, {B, kAny, kAny, M});
  call.input("knn_idx", inputs.knn_idx.desc, inputs.knn_idx.data, MLUOP_DTYPE_INT32, array, {B, N1, K});
}

// Call it after all tensors are declared.
inline void check(Call& call, const PassedInputs& inputs, const Sizes& sizes) {
  call.check_pointers();
  require_element_type("points", dtype_of(inputs.points.desc));
  call.check_tensors();
  if (sizes.B * sizes.rows() > 0) require_positive("points dim 1", sizes.N0);
}

inline Inputs checked_inputs(const PassedInputs& inputs, const Sizes& sizes) {
  return {sizes,
          dtype_of(inputs.points.desc),
          inputs.points.data,
          inputs.centers.data,
          inputs.scores.data,
          static_cast<const int32_t*>(inputs.knn_idx.data)};
}

}  // namespace mluop::assign_score_withk
