// Furthest point sampling, of points and of a matrix of distances: the algorithm and the arguments of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "team/operator_call.h"

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

namespace native {

// The input of a call.
enum class From { kPoints, kDistances };

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(From from, const Sizes& sizes);

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, From from, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::furthest_point_sample
