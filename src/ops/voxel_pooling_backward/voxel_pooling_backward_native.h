// Voxel pooling backward, native algorithm: the decisions of a call, and its launches. The first checks pos_memo,
// the second gathers the rows of grad_output. The only memory is a tile in NRAM.
#pragma once

#include "ops/voxel_pooling_backward/voxel_pooling_backward_native_kernels.h"
#include "team/operator_call.h"

namespace mluop::voxel_pooling_backward::native {

struct Plan {
  int check_task_dim, gather_task_dim;
  Store store;
  int64_t tile_bytes;
};

Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws std::bad_alloc, and Failure with BAD_PARAM for the first bad element of pos_memo,
// before it writes the output.
void run(Call& call, const Args& args);

}  // namespace mluop::voxel_pooling_backward::native
