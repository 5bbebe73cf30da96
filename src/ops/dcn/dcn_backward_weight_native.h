// Deformable convolution backward weight, native algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstddef>

#include "ops/dcn/dcn_args.h"
#include "team/operator_call.h"

namespace mluop::dcn::backward_weight {

// Partial sums of the filters. Depends on the sizes only. Throws Failure (BAD_PARAM) if it
// exceeds int64_t.
size_t workspace_bytes(const BackwardWeightArgs& args);

// Requires checked arguments, and a workspace of workspace_bytes(). Throws Failure with ALLOC_FAILED if the
// smallest tile does not fit NRAM.
void run(Call& call, const BackwardWeightArgs& args, Arena workspace);

}  // namespace mluop::dcn::backward_weight
