// k nearest neighbors: the algorithm and the arguments of a call.
//
// Letters: B batches, M centers, N points. The squared distance of center and point is ((cx - px)^2 + (cy - py)^2)
// + (cz - pz)^2, each step rounded to fp32.
#pragma once

#include <cstdint>

#include "team/operator_call.h"

namespace mluop::knn {

// The limits of k.
inline constexpr int kMinK = 1, kMaxK = 100;

// Missing neighbors have index 0 and this squared distance in a row. Only nearer points are neighbors.
inline constexpr float kNoNeighbor = 1e10F;
// The largest distance of a neighbor: its unit in the last place is 1024.
inline constexpr float kMaxDistance = kNoNeighbor - 1024;

// The sizes of a call, and of its workspace query.
struct Sizes {
  bool is_empty() const { return B == 0 || M == 0; }

  int64_t B, M, N, k;
};

// The arguments of the call, checked.
struct Args : Sizes {
  const float* xyz;      // [B, N, 3], the points
  const float* new_xyz;  // [B, M, 3], the centers
  int32_t* idx;          // [B, M, k]
  float* dist2;          // [B, M, k]
};

namespace native {

size_t workspace_bytes(const Sizes& sizes);

// Computes the outputs, which have elements. Throws Failure (ALLOC_FAILED) or std::bad_alloc before it writes
// them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::knn
