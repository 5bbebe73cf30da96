// Ball query: range kernels of the native algorithm.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "ops/ball_query/args.h"
#include "team/launch.h"

namespace mluop::ball_query::native {

// The points of all batches in fp32, each coordinate on its own.
struct Planes {
  // Planes are padded to whole groups. Padding is NaN, which is in no ball.
  static constexpr int64_t kGroupPoints = 64;

  Planes(Arena& pool, int64_t B, int64_t N)
      : groups(ceil_div(N, kGroupPoints)),
        coordinates(pool.take<float>("coordinates", {B, 3, groups * kGroupPoints})) {}

  int64_t size() const { return groups * kGroupPoints; }
  float* plane(int64_t b, int64_t dim) const { return coordinates + (b * 3 + dim) * size(); }

  int64_t groups;      // of a batch
  float* coordinates;  // [B, 3, size()]
};

// Work items: (b, group of points). Writes the planes.
struct SeparateArgs {
  const Args& call;
  const Planes& planes;
};
RangeKernel<SeparateArgs> separate_kernel(mluOpDataType_t dtype);

// Work items: centers. Writes the rows of idx that have a member.
struct QueryArgs {
  const Args& call;
  const Planes& planes;
};
RangeKernel<QueryArgs> query_kernel(const Args& call);

}  // namespace mluop::ball_query::native
