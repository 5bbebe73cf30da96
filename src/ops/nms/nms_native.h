// NMS: the launches of the native algorithm. For one suppression at a time: selects the candidates, sorts them,
// prepares their boxes, suppresses, and writes the kept boxes.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "ops/nms/nms_args.h"
#include "team/operator_call.h"

namespace mluop::nms::native {

// 0 if there is nothing to do. Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::nms::native
