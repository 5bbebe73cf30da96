// Points with one array per coordinate, in fp32, for loops over vectors of points.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "team/launch.h"

namespace mluop {

// The points of all batches.
struct PointPlanes {
  // Planes are padded to whole groups with NaN, which is never within a distance.
  static constexpr int64_t kGroupPoints = 128;

  PointPlanes(Arena& arena, int64_t batches, int64_t points)
      : B(batches),
        N(points),
        groups(ceil_div(N, kGroupPoints)),
        coordinates(arena.take<float>("coordinates", {B, 3, groups * kGroupPoints})) {}

  int64_t size() const { return groups * kGroupPoints; }
  float* plane(int64_t b, int64_t dim) const { return coordinates + (b * 3 + dim) * size(); }

  int64_t B, N;
  int64_t groups;      // groups of a batch
  float* coordinates;  // [B, 3, size()]
};

struct SeparateArgs {
  const PointPlanes& planes;
  const void* points;  // [B, N, 3]
};

// Writes the planes of points [B, N, 3], of any element type.
void separate_coordinates(Context& context, const PointPlanes& planes, mluOpDataType_t dtype, const void* points);

}  // namespace mluop
