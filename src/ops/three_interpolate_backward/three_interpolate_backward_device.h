// Three interpolate backward, device algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstdint>

#include "ops/three_interpolate_backward/three_interpolate_backward_device_kernels.h"
#include "team/operator_call.h"

namespace mluop::three_interpolate_backward::device {

struct Plan {
  int task_dim;
  Tiling tiling;
};

// The features of a tile: at most `max`, a multiple of `unit`, such that B * ceil(M / Mo) work items fill as many
// of the task_dim cores in each round as possible, in as many rounds as with `max`.
int64_t choose_features(int64_t B, int64_t M, int64_t max, int64_t unit, int task_dim);

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, M), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::three_interpolate_backward::device
