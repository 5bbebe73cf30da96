// Furthest point sampling, native algorithm: scratch memory and range kernels. One task samples a cloud, because
// each sample depends on the one before.
#pragma once

#include <cstddef>

#include "core/sizes.h"
#include "ops/furthest_point_sample/furthest_point_sample.h"
#include "ops/furthest_point_sample/furthest_point_sample_native_buckets.h"
#include "team/launch.h"

namespace mluop::furthest_point_sample::native {

// The clouds of a call.
struct Clouds {
  Clouds(Arena& arena, const Sizes& sizes)
      : shape(sizes.N, sizes.M),
        cloud_bytes(static_cast<int64_t>(bytes_of<Cloud>(shape))),
        memory(arena.take<std::byte>("clouds", {sizes.B, cloud_bytes})) {}

  Cloud cloud(int64_t b) const {
    Arena arena(memory + b * cloud_bytes, static_cast<size_t>(cloud_bytes));
    return {arena, shape};
  }

  BucketShape shape;
  int64_t cloud_bytes;
  std::byte* memory;  // [B, cloud_bytes]
};

// Work items: clouds. Samples points.
struct SamplePointsArgs : Args {
  const Clouds& clouds;
};
RangeKernel<SamplePointsArgs> sample_points_kernel();

// The distance of each point to the samples.
struct Distances {
  // Rows are padded to the longest vector.
  static constexpr int64_t kPadding = 16;

  Distances(Arena& arena, const Sizes& sizes)
      : size(round_up(sizes.N, kPadding)), to_samples(arena.take<float>("distances", {sizes.B, size})) {}

  int64_t size;
  float* to_samples;  // [B, size]
};

// Work items: clouds. Samples by a matrix of distances.
struct SampleDistancesArgs : Args {
  const Distances& distances;
};
RangeKernel<SampleDistancesArgs> sample_distances_kernel();

}  // namespace mluop::furthest_point_sample::native
