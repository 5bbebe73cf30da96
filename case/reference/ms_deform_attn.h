// Oracles of multi-scale deformable attention, forward and backward: serial loops in fp32, bit for bit.
#pragma once

#include <cstdint>

namespace mluop::reference {

// Letters and layouts as in mluOpMsDeformAttnForward.
struct MsDeformAttnProblem {
  int64_t B, K, M, D, L, Q, P;
  const float* value;
  const int32_t *shapes, *starts;
  const float *locations, *weights;
};

void ms_deform_attn(const MsDeformAttnProblem& problem, float* output);
// Sums over channels use 16 partial sums; the upper half is added to the lower half until one is left.
void ms_deform_attn_backward(const MsDeformAttnProblem& problem, const float* grad_output, float* grad_value,
                             float* grad_locations, float* grad_weights);

}  // namespace mluop::reference
