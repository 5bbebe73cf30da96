// Deformable convolution by its definition: serial loops in double. Positions are computed in fp32, where the
// definition rounds them. The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// N images of H x W pixels and Ci channels, the last dimension of all tensors; Ho x Wo output pixels and Co
// channels.
struct DcnProblem {
  int64_t N, H, W, Ci;
  int64_t kernel_h, kernel_w;
  int64_t Ho, Wo, Co;
  int64_t pad_top, pad_left, stride_h, stride_w, dilation_h, dilation_w;
  int64_t deformable_groups, groups;
};

// T: float, Half or BFloat16.
template <class T>
struct DcnSamples {
  const T* input;   // [N, H, W, Ci]
  const T* offset;  // [N, Ho, Wo, deformable_groups, kernel_h, kernel_w, 2]
  const T* mask;    // [N, Ho, Wo, deformable_groups, kernel_h, kernel_w], or null
};

// bias: null if there is no bias.
template <class T>
void dcn_forward(const DcnProblem& problem, const DcnSamples<T>& samples, const T* filter, const T* bias,
                 double* output);

// grad_mask: null without mask. Adds to the gradients. With `adds_slopes`, slopes along an axis are sums of pixels
// instead of differences.
template <class T>
void dcn_backward_data(const DcnProblem& problem, const DcnSamples<T>& samples, const T* filter,
                       const T* grad_output, bool adds_slopes, double* grad_input, double* grad_offset,
                       double* grad_mask);

// grad_bias: null without bias. Adds to the gradients.
template <class T>
void dcn_backward_weight(const DcnProblem& problem, const DcnSamples<T>& samples, const T* grad_output,
                         double* grad_filter, double* grad_bias);

}  // namespace mluop::reference
