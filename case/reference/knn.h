// k nearest neighbors by the definition of mmcv: the serial loop over batches, centers and points, with a heap.
// The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct KnnSizes {
  int64_t B, M, N, k;
};

// The library must return the same bits and, for equal distances, the same indices in the same order.
void knn(const KnnSizes& sizes, const float* xyz, const float* new_xyz, int32_t* idx, float* dist2);

}  // namespace mluop::reference
