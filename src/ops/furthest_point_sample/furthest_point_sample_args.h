// Furthest point sampling, of points and of a matrix of distances: the arguments of a call.
#pragma once

#include <cstdint>

namespace mluop::furthest_point_sample {

// B clouds, N points, M samples.
struct Sizes {
  bool is_empty() const { return B == 0 || M == 0; }

  int64_t B, N, M;
};

// The arguments of the call, checked; not empty.
struct Args : Sizes {
  const float* from;  // points [B, N, 3], or distances [B, N, N]
  int32_t* idx;       // [B, M]
};

// The distance of a point to the samples before any is chosen.
inline constexpr float kFirstDistance = 1e10F;

}  // namespace mluop::furthest_point_sample
