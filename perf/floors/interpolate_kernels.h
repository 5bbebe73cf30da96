// The kernels of three interpolate backward's floor.
#pragma once

#include <cstdint>
#include <vector>

namespace mluop::perf {

// Channels, points and features of a square.
inline constexpr int64_t kSquare = 16;
// Those of a row that are loaded at once: a cache line.
constexpr int64_t line_points(bool half) { return half ? 2 * kSquare : kSquare; }
// Grouped: points that are transposed before their products are added, and strips of channels that share a group.
inline constexpr int64_t kTilePoints = 128;
inline constexpr int64_t kMostStrips = 4;

// What a point adds to the feature of its group: weight times row `place` of the tile.
struct GroupedPoint {
  uint32_t place;
  float weight;
};

// The indices and weights of a batch, for whole squares of points and features.
struct InterpolateBatch {
  std::vector<uint64_t> places;  // [points * 3 / 2], where the sums of two features begin, in [features, kSquare]
  std::vector<float> weights;    // [points, 3]
  std::vector<uint32_t> starts;  // [tiles, features + 1], in `grouped`
  std::vector<GroupedPoint> grouped;  // [points * 3], tile by tile
};

// What a thread computes: units [begin, end), a batch's strips next to each other.
struct InterpolatePart {
  const InterpolateBatch* batches;
  int64_t strips;            // of a batch
  int64_t points, features;  // whole squares of them
  int64_t C, N, M;
  const void* grad_output;  // [B, C, N]
  void* grad_features;      // [B, C, M]
  bool fetch_ahead;         // grad_output
  bool stream;              // grad_features past the caches: with other values there, as many
  int64_t begin, end;
  // In the caches.
  float* square;  // [kSquare, kSquare] of grad_features
  float* tile;    // [kTilePoints, strips of a unit * kSquare]
  float* sums;    // [features, strips of a unit * kSquare]
};

using Interpolate = void (*)(const InterpolatePart& part);

// Of float, of half.
struct InterpolateKernels {
  Interpolate in_order[2];                   // a unit is a strip
  Interpolate by_feature[2];                 // the same
  Interpolate by_feature_of_most_strips[2];  // a unit is kMostStrips
};

// Of the best instruction set of the machine.
const InterpolateKernels& interpolate_kernels();

}  // namespace mluop::perf
