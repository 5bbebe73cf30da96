// Gather-GEMM-scatter, the baseline of sparse convolution on CPUs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "perf/support/buffer.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::perf {

// For each filter offset, gathers the rows of its pairs, multiplies them with oneDNN's sgemm and scatters the
// products to the output, each pass on all threads. Requires that an output occurs at most once in the pairs of an
// offset and that no index is negative. Allocates one row of inputs and of products per pair.
class GatherSgemmScatter {
 public:
  using Sizes = reference::IndiceConvolutionForwardSizes;

  // max_pairs: the maximum number of pairs of an offset.
  GatherSgemmScatter(const Sizes& sizes, int64_t max_pairs);

  // filters: [D, H, W, Ci, Co].
  void run(const float* features, const float* filters, const int32_t* indice_pairs, const int64_t* indice_num,
           float* features_out);

 private:
  Sizes sizes_;
  Buffer<float> gathered_, products_;
};

}  // namespace mluop::perf
