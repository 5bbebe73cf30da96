// RoI align: the launches of the native algorithm. The first checks the RoIs and writes their tables. Forward is
// one launch over ranges of channels of images and RoIs. Backward is one over ranges of channels of images, whose
// owners add the gradients of the RoIs in their order.
#pragma once

#include "ops/roi_align/roi_align_args.h"
#include "team/operator_call.h"

namespace mluop::roi_align::native {

// Compute the outputs. Throw before they write one: Failure with BAD_PARAM if the image of a RoI does not exist,
// or if the bytes of all tensors or of the memory exceed int64_t, with ALLOC_FAILED if no tile fits NRAM, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace mluop::roi_align::native
