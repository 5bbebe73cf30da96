// Deformable convolution forward, native algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstddef>

#include "ops/dcn/dcn_args.h"
#include "team/operator_call.h"

namespace mluop::dcn::forward {

// The filters in fp32, packed. Throws Failure (BAD_PARAM) if the size exceeds int64_t.
size_t workspace_bytes(const ForwardArgs& args);

// Requires checked arguments, and a workspace of workspace_bytes(). Throws Failure with ALLOC_FAILED if the
// smallest tile does not fit NRAM.
void run(Call& call, const ForwardArgs& args, Arena workspace);

}  // namespace mluop::dcn::forward
