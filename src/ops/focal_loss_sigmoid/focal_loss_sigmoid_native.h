// Sigmoid focal loss: the launch of the native algorithm, over tiles of elements.
#pragma once

#include "ops/focal_loss_sigmoid/focal_loss_sigmoid_args.h"
#include "team/operator_call.h"

namespace mluop::focal_loss_sigmoid::native {

// Compute the output: the loss, or its derivative. Throw before they write it: Failure with ALLOC_FAILED if a tile
// does not fit NRAM, and std::bad_alloc.
void run_forward(Call& call, const Args& args);
void run_backward(Call& call, const Args& args);

}  // namespace mluop::focal_loss_sigmoid::native
