// Indice max pooling: the launches of the native algorithm. Two check the pairs and sort them by row of the
// result, the last computes the rows, each in the order of offsets and pairs.
#pragma once

#include "ops/indice_maxpool/indice_maxpool_args.h"
#include "team/operator_call.h"

namespace mluop::indice_maxpool::native {

// Compute the result. Throw before they write it: Failure with BAD_PARAM if an index is out of bounds, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace mluop::indice_maxpool::native
