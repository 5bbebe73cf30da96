// Furthest point sampling, native algorithm: the workspaces, and the launches.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "ops/furthest_point_sample/furthest_point_sample_args.h"
#include "team/operator_call.h"

namespace mluop::furthest_point_sample::native {

// The input of a call.
enum class From { kPoints, kDistances };

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(From from, const Sizes& sizes);

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, From from, const Args& args, Arena workspace);

}  // namespace mluop::furthest_point_sample::native
