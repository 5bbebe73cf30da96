// Ball query: the launches of the native algorithm. The first separates the coordinates of the points; then each
// center is compared with vectors of points, in ascending order, until its ball is full.
#pragma once

#include "ops/ball_query/ball_query_args.h"
#include "team/operator_call.h"

namespace mluop::ball_query::native {

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace mluop::ball_query::native
