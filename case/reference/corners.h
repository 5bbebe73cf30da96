// Corners of the cells of points by their definition: a map of the sites, and a search for each corner. The oracle
// of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// N points, M sites, D axes.
struct CornerSizes {
  int64_t N, M, D;
};

// points: [N, 1 + D], sites: [M, 1 + D], strides: [D]; corners, weights: [N, 2^D]. The library must return the
// same bits.
void corners(const CornerSizes& sizes, const float* points, const int32_t* sites, const int32_t* strides,
             int32_t* corners, float* weights);

}  // namespace mluop::reference
