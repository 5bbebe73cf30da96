// Gather points forward, native algorithm: the decisions of a call, and its launches. The first checks the
// indices, the second gathers. The only memory is a tile in NRAM.
#pragma once

#include <cstdint>

#include "ops/gather_points_forward/gather_points_forward_native_kernels.h"
#include "team/operator_call.h"

namespace mluop::gather_points_forward::native {

struct Plan {
  int task_dim;
  bool packed;           // packed_kernel(), else direct_kernel()
  int64_t chunk_points;  // a multiple of kBlockPoints
  bool stream;           // the output bypasses the caches
  bool prefetch;         // features come from memory
};

// Throws Failure with BAD_PARAM if the bytes of all tensors exceed int64_t. The smallest tile fits 1 KiB, the
// smallest NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, N), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::gather_points_forward::native
