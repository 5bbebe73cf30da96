// The magnitude of a tensor, to which its absolute tolerance is relative.
#pragma once

#include "compare/measure.h"
#include "team/context.h"

namespace mluop::compare {

// sqrt(sum b^2 / n) over the n finite nonzero elements b of expected; 0 if there are none. The same bits for any
// number of tasks. Throws std::bad_alloc.
double root_mean_square(Context& context, const Operands& operands);

}  // namespace mluop::compare
