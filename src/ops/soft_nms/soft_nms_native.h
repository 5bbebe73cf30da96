// Soft NMS, native algorithm: its workspace, and its launches.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "ops/soft_nms/soft_nms_args.h"
#include "team/operator_call.h"

namespace mluop::soft_nms::native {

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::soft_nms::native
