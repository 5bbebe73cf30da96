// Masked col2im forward, native algorithm: its launches. The first checks the masks. If they are distinct and in
// row-major order, as the masks of a network, each vector of the image is loaded from consecutive elements of col;
// else elements are scattered one by one.
#pragma once

#include "ops/masked_col2im_forward/masked_col2im_forward_args.h"
#include "team/operator_call.h"

namespace mluop::masked_col2im_forward::native {

// Computes the output. Throws std::bad_alloc, and Failure with BAD_PARAM for the first mask outside the image,
// before it writes the output.
void run(Call& call, const Args& args);

}  // namespace mluop::masked_col2im_forward::native
