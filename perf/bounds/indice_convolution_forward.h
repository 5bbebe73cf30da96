// The algorithmic bound of indice convolution forward: an output-stationary GEMM over its index pairs.
#pragma once

#include <cstdint>
#include <functional>

#include "mlu_op.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::perf {

// The operands of a call. The caller owns them.
struct ConvolutionTensors {
  reference::IndiceConvolutionForwardSizes sizes;
  mluOpDataType_t dtype;
  const void *features, *filters;  // filters: [D, H, W, Ci, Co]
  const int32_t* indice_pairs;
  const int64_t* indice_num;
  void* features_out;
};

// Returns a function that computes the output tile by tile, in parallel. For each filter offset it multiplies the
// rows of features, which it prefetches, by packed filters, adds the products to the tile, and writes the tile.
// Checking and sorting the pairs and packing the filters are preparation. Requires: Co is a multiple of 16,
// features_out is aligned to a cache line, no index is negative.
std::function<void()> indice_convolution_forward_bound(const ConvolutionTensors& tensors, int threads);

}  // namespace mluop::perf
