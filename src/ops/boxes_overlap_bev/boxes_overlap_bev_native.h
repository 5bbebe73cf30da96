// Bird's-eye overlap of 3-D boxes: the launches of the native algorithm. The first computes corners and bounds of
// each box; the second writes each row of the result: zeros, except where the bounds of two boxes meet.
#pragma once

#include "ops/boxes_overlap_bev/boxes_overlap_bev_args.h"
#include "team/operator_call.h"

namespace mluop::boxes_overlap_bev::native {

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace mluop::boxes_overlap_bev::native
