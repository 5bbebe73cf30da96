// Masked im2col forward, native algorithm: the decisions of a call, and its launch.
#pragma once

#include <cstdint>

#include "ops/masked_im2col_forward/masked_im2col_forward_native_kernels.h"
#include "team/operator_call.h"

namespace mluop::masked_im2col_forward::native {

struct Plan {
  int task_dim;
  bool packed;            // packed_kernel(), else direct_kernel()
  int64_t located_masks;  // packed_kernel() only: masks whose pixels are located at a time, whole lines
  int64_t tile_masks;     // masks whose output rows are in NRAM at a time, whole lines
  bool stream;            // the output bypasses the caches
};

// The smallest tile fits 1 KiB, the smallest NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace mluop::masked_im2col_forward::native
