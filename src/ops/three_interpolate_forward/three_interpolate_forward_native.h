// Three interpolate forward, native algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstdint>

#include "ops/three_interpolate_forward/three_interpolate_forward_native_kernels.h"
#include "team/operator_call.h"

namespace mluop::three_interpolate_forward::native {

struct Plan {
  int task_dim;
  bool packed;           // packed_kernel(), else direct_kernel()
  int64_t chunk_points;  // a multiple of kStrip
  bool stream;           // the output bypasses the caches
};

// Throws Failure: BAD_PARAM if the bytes of all tensors exceed int64_t. The smallest tile fits 1 KiB, the smallest
// NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, M), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::three_interpolate_forward::native
