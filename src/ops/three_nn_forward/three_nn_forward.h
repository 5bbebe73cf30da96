// Three nearest neighbors forward: the algorithm and the arguments of a call.
//
// Letters as in the design document: B batches, N unknown points (queries), M known points. A neighbor is better
// than another if its (squared distance, index) is less; NaN and infinite distances are excluded. Differences,
// squares and sums are rounded to the element type, so that every algorithm computes the same distance.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::three_nn_forward {

// Number of neighbors returned for a query.
inline constexpr int64_t kNeighbors = 3;

// The arguments of the call, checked.
struct Args {
  int64_t B, N, M;
  mluOpDataType_t dtype;  // of all tensors except idx
  const void* unknown;    // [B, N, 3]
  const void* known;      // [B, M, 3]
  void* dist2;            // [B, N, 3]
  int32_t* idx;           // [B, N, 3]
};

struct KnownSizes {
  int64_t B, M;
  mluOpDataType_t dtype;
};

namespace native {

// The number of known points from which on queries search a tree; fewer points are all compared with each query.
inline constexpr int64_t kMinTreePoints = 1024;

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(const KnownSizes& known);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::three_nn_forward
