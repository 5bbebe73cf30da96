// The kernels of the algorithmic bound of three interpolate backward.
#pragma once

#include <cstdint>
#include <vector>

namespace mluop::perf {

// Channels, points and features of a square. A strip is kSquare consecutive channels of one batch.
inline constexpr int64_t kSquare = 16;
// Points of a channel in a cache line.
constexpr int64_t line_points(bool half) { return half ? 2 * kSquare : kSquare; }
// By feature: points that are transposed before their products are added, and the maximum of strips that are added
// together.
inline constexpr int64_t kTilePoints = 128;
inline constexpr int64_t kMaxStrips = 4;

// A product of a feature: weight times a row of the tile.
struct FeatureProduct {
  uint32_t row;
  float weight;
};

// The indices and weights of a batch, for whole squares of points and features.
struct InterpolateBatch {
  // [points * 3 / 2], element offsets of the sums of two features, in [features, kSquare], 32 bits each.
  std::vector<uint64_t> paired_offsets;
  std::vector<float> weights;            // [points, 3]
  std::vector<uint32_t> starts;          // [tiles, features + 1], index in `products`
  std::vector<FeatureProduct> products;  // [points * 3], sorted by tile, then by feature
};

// What a thread computes: work items [begin, end). A work item is one strip, or kMaxStrips consecutive strips of a
// batch.
struct InterpolateRange {
  const InterpolateBatch* batches;
  int64_t strips;            // of a batch
  int64_t points, features;  // multiples of kSquare
  int64_t C, N, M;
  const void* grad_output;  // [B, C, N]
  void* grad_features;      // [B, C, M]
  bool prefetch;            // of grad_output
  bool stream;              // non-temporal stores to grad_features: the same number of bytes, unspecified values
  int64_t begin, end;
  // Scratch of the thread.
  float* square;  // [kSquare, kSquare] of grad_features
  float* tile;    // [kTilePoints, strips of a work item * kSquare]
  float* sums;    // [features, strips of a work item * kSquare]
};

using Interpolate = void (*)(const InterpolateRange& range);

// Index 0: float; index 1: half.
struct InterpolateKernels {
  Interpolate in_order[2];               // a work item is one strip
  Interpolate by_feature[2];             // a work item is one strip
  Interpolate by_feature_max_strips[2];  // a work item is kMaxStrips strips
};

// For the best instruction set of the machine.
const InterpolateKernels& interpolate_kernels();

}  // namespace mluop::perf
