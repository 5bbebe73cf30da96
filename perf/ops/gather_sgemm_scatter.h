// Sparse convolution as other libraries do it on CPUs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "perf/support/buffer.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::perf {

// For each filter element: gathers the rows of its pairs, multiplies them with oneDNN's sgemm, and adds the
// products to the rows of the output, each of the three on all threads. An output occurs at most once in an
// element's pairs and no index is negative, as in all real convolutions.
class GatherSgemmScatter {
 public:
  using Sizes = reference::IndiceConvolutionForwardSizes;

  // most_pairs: of an element.
  GatherSgemmScatter(const Sizes& sizes, int64_t most_pairs);

  // filters [D, H, W, Ci, Co].
  void run(const float* features, const float* filters, const int32_t* indice_pairs, const int64_t* indice_num,
           float* features_out);

 private:
  Sizes sizes_;
  Buffer<float> gathered_, products_;
};

}  // namespace mluop::perf
