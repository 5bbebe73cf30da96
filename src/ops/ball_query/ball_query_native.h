// Ball query and stacked ball query: the launches of the native algorithm. The first separates the coordinates of
// the points. Then some centers, the probes, are compared with vectors of points, in ascending order, until their
// balls are full. If they show that the others would take many comparisons, the points are sorted by the cells of
// a grid. Each other center is compared with the points of the cells around it, or as the probes where that is
// likely to cost less.
// Stacked clouds are queried one after the other.
#pragma once

#include "ops/ball_query/ball_query_args.h"
#include "team/operator_call.h"

namespace mluop::ball_query::native {

// Compute the output. Throw std::bad_alloc before they write it.
void run(Call& call, const Args& args);
void run_stacked(Call& call, const StackArgs& stack);

}  // namespace mluop::ball_query::native
