// The algorithmic bound of indice convolution forward: an output-stationary GEMM over its index pairs.
#pragma once

#include <cstdint>
#include <functional>

#include "reference/indice_convolution_forward.h"
#include "support/half.h"

namespace mluop::perf {

// Returns a function that computes the output tile by tile, in parallel. For each filter offset it multiplies the
// rows of features, which it prefetches, by packed filters, adds the products to the tile, and writes the tile.
// Checking and sorting the pairs, forming blocks and packing the filters are preparation; the filters have values
// of their own. The function reads `features` when called. Requires: Co is a multiple of 16, no index is negative.
std::function<void()> indice_convolution_forward_bound(const reference::IndiceConvolutionForwardSizes& sizes,
                                                       const float* features, const int32_t* indice_pairs,
                                                       const int64_t* indice_num, int threads);
std::function<void()> indice_convolution_forward_bound(const reference::IndiceConvolutionForwardSizes& sizes,
                                                       const test::Half* features, const int32_t* indice_pairs,
                                                       const int64_t* indice_num, int threads);

}  // namespace mluop::perf
