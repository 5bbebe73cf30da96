// Furthest point sampling by its definition: a serial loop in fp32 over samples and points. The oracle of the
// tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct FurthestPointSampleSizes {
  int64_t B, N, M;
};

// Write idx [B, M] for points [B, N, 3], and for distances [B, N, N]. Among equal points, selects the point that
// mmcv's CUDA kernel selects.
void furthest_point_sample(const FurthestPointSampleSizes& sizes, const float* points, int32_t* idx);
void furthest_point_sample_with_dist(const FurthestPointSampleSizes& sizes, const float* distances, int32_t* idx);

}  // namespace mluop::reference
