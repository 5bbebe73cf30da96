// Ball query, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "ops/ball_query/ball_query_args.h"
#include "team/launch.h"

namespace mluop::ball_query::native {

// The points of all batches in fp32, each coordinate on its own.
struct Planes {
  // Planes are padded to whole groups. Padding is NaN, which is in no ball.
  static constexpr int64_t kGroupPoints = 64;

  Planes(Arena& arena, int64_t B, int64_t N)
      : groups(ceil_div(N, kGroupPoints)),
        coordinates(arena.take<float>("coordinates", {B, 3, groups * kGroupPoints})) {}

  int64_t size() const { return groups * kGroupPoints; }
  float* plane(int64_t b, int64_t dim) const { return coordinates + (b * 3 + dim) * size(); }

  int64_t groups;      // of a batch
  float* coordinates;  // [B, 3, size()]
};

struct KernelArgs : Args {
  const Planes& planes;
};

// Work items: (b, group of points). Writes the planes.
RangeKernel<KernelArgs> separate_kernel(mluOpDataType_t dtype);

// Work items: centers. Writes the rows of idx that have a member.
RangeKernel<KernelArgs> query_kernel(const Args& args);

}  // namespace mluop::ball_query::native
