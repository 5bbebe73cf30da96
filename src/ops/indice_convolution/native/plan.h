// Indice convolution by the native algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstddef>

#include "ops/indice_convolution/args.h"
#include "ops/indice_convolution/native/tile.h"
#include "team/operator_call.h"

namespace mluop::indice_convolution::native {

// The bytes of the caller's workspace, at any address, without the data of tensors. Throws Failure with BAD_PARAM
// if they exceed int64_t.
size_t workspace_bytes(const Context& context, const Args& args);

struct Plan {
  int task_dim;
  Tiling tiling;
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws what make_plan() throws, Failure with BAD_PARAM if an index is out of bounds, and
// std::bad_alloc, before it writes the output.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::indice_convolution::native
