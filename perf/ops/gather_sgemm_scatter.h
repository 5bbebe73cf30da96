// Gather-GEMM-scatter, the baseline of sparse convolution and its gradients on CPUs.
#pragma once

#include <cstdint>

#include "perf/support/buffer.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::perf {

// For each filter offset, gathers the rows of its pairs, multiplies them with oneDNN's sgemm and, but for the
// gradient of the filters, scatters the products to the result, each pass on all threads. Requires that a row of
// the result occurs at most once in the pairs of an offset, that no index is negative, and that Ci and Co are
// multiples of 16. Allocates one row of inputs and one of outputs per pair.
class GatherSgemmScatter {
 public:
  using Sizes = reference::IndiceConvolutionForwardSizes;

  // The pairs are read by each call; max_pairs: the maximum number of an offset.
  GatherSgemmScatter(const Sizes& sizes, const int32_t* indice_pairs, const int64_t* indice_num,
                     int64_t max_pairs);

  // filters, filters_grad: [D, H, W, Ci, Co].
  void forward(const float* features, const float* filters, float* features_out);
  void backward_data(const float* output_grad, const float* filters, float* input_grad);
  void backward_filter(const float* features, const float* output_grad, float* filters_grad);

 private:
  const int32_t* rows_in(int64_t k) const { return indice_pairs_ + k * 2 * sizes_.num_act_in; }
  const int32_t* rows_out(int64_t k) const { return rows_in(k) + sizes_.num_act_in; }

  Sizes sizes_;
  const int32_t* indice_pairs_;
  const int64_t* indice_num_;
  Buffer<float> inputs_, outputs_;
};

}  // namespace mluop::perf
