// The floor of indice convolution forward: the products of its pairs, tile by tile of the output.
#pragma once

#include <cstdint>
#include <functional>

#include "reference/indice_convolution_forward.h"
#include "support/half.h"

namespace mluop::perf {

// Threads take tiles of the output that stay in the second level of the cache. For each offset of the filter, rows
// of features, fetched ahead, are multiplied in blocks that fill the registers and added to the tile, which is
// then written. Pairs are checked, sorted and cut into blocks, and filters packed, beforehand: their values are
// not the case's. Features belong to the caller. Co: a multiple of 16. No index is negative.
std::function<void()> indice_convolution_forward_floor(const reference::IndiceConvolutionForwardSizes& sizes,
                                                       const float* features, const int32_t* indice_pairs,
                                                       const int64_t* indice_num, int threads);
std::function<void()> indice_convolution_forward_floor(const reference::IndiceConvolutionForwardSizes& sizes,
                                                       const test::Half* features, const int32_t* indice_pairs,
                                                       const int64_t* indice_num, int threads);

}  // namespace mluop::perf
