// Three interpolate forward: the decisions of a call, and its launches.
#pragma once

#include <cstdint>

#include "ops/three_interpolate_forward/native/kernels.h"
#include "team/operator_call.h"

namespace mluop::three_interpolate_forward::native {

struct Plan {
  int task_dim, check_task_dim;
  bool packed;           // packed_kernel, else direct_kernel
  int64_t chunk_points;  // a multiple of kStrip
  bool stream;           // the output bypasses the caches
};

// Throws Failure: BAD_PARAM if the bytes of all tensors exceed int64_t. The smallest tile fits 1 KiB, the smallest
// NRAM.
Plan make_plan(const Context& context, const Args& args);

// Checks the indices and computes the output. Throws before it writes it: Failure (BAD_PARAM) that names the first
// index out of range, or std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::three_interpolate_forward::native
