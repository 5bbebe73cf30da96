// Voxel pooling forward: what is decided once a call, and the launches that carry it out.
#pragma once

#include <cstdint>

#include "ops/voxel_pooling_forward/kernels.h"
#include "team/context.h"

namespace mluop::voxel_pooling_forward {

struct Plan {
  bool atomics;
  int task_dim;
  int32_t tile_points;    // points that are in NRAM at once
  int32_t tile_channels;  // atomics mode: channels of a feature row that are in NRAM at once
  bool stream;            // outputs are too large to be found in a cache again
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// Outputs are written from the first launch on: all memory is reserved before it. Throws std::bad_alloc.
void run(Context& context, const Plan& plan, const Args& args);

}  // namespace mluop::voxel_pooling_forward
