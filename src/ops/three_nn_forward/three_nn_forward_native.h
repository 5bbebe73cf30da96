// Three nearest neighbors forward, native algorithm: the decisions of a call, its workspace, and its launches.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "ops/three_nn_forward/three_nn_forward_args.h"
#include "team/operator_call.h"

namespace mluop::three_nn_forward {

struct KnownSizes {
  int64_t B, M;
  mluOpDataType_t dtype;
};

namespace native {

// Known points from which on queries search a tree; below, they are compared with all.
inline constexpr int64_t kMinTreePoints = 1024;

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(const KnownSizes& known);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::three_nn_forward
