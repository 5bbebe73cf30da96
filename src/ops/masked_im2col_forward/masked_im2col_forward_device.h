// Masked im2col forward, device algorithm: its launches. The feature is transposed to NHWC, the window of each
// mask is copied to its row of a matrix, and the matrix is transposed to data_col. The copies do not use NRAM.
#pragma once

#include <cstddef>

#include "ops/masked_im2col_forward/masked_im2col_forward_device_kernels.h"
#include "team/operator_call.h"

namespace mluop::masked_im2col_forward::device {

// Bytes of the caller's workspace, at any address; 0 without masks. Reads the sizes of the arguments. Throws
// Failure with BAD_PARAM if they exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args, Arena arena);

}  // namespace mluop::masked_im2col_forward::device
