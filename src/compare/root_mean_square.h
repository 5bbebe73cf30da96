// The magnitude of a tensor, to which its absolute tolerance is relative.
#pragma once

#include <cstdint>

#include "compare/elements.h"
#include "team/context.h"

namespace mluop::compare {

// sqrt(sum x^2 / n) over the n finite elements other than 0; 0 if there are none. The same bits at any number of
// tasks. Throws std::bad_alloc.
double root_mean_square(Context& context, const Elements& elements, int64_t count);

}  // namespace mluop::compare
