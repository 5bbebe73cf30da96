// Three interpolate backward: what is decided once a call, and the launches that carry it out.
#pragma once

#include "ops/three_interpolate_backward/kernels.h"
#include "team/context.h"

namespace mluop::three_interpolate_backward {

struct Plan {
  int task_dim;
  int index_task_dim;  // of the launch before: check_kernel() or group_kernel()
  bool grouped;        // sum_kernel(), else direct_kernel()
  Tiling tiling;
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// Throws Failure with BAD_PARAM, before the output is written, if an index is outside [0, M), and std::bad_alloc.
void run(Context& context, const Plan& plan, const Args& args);

}  // namespace mluop::three_interpolate_backward
