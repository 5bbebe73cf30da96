// Indice convolution forward, device algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstddef>

#include "ops/indice_convolution/indice_convolution_args.h"
#include "team/operator_call.h"

namespace mluop::indice_convolution::device {

// The bytes of the caller's workspace, at any address, without the data of tensors. Throws Failure with BAD_PARAM
// if they exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the output: fill, transpose, then gather, matmul and scatter_add for each offset that has pairs. Throws
// Failure (an index is out of bounds, or a tile does not fit NRAM) and std::bad_alloc before it writes the output.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::indice_convolution::device
