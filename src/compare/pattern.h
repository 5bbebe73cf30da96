// The pattern of the wrong elements: hypotheses, the most specific first, each verified for every wrong element
// before it is stated. Costs a pass over the blocks with wrong elements, and more while a hypothesis holds.
#pragma once

#include <span>
#include <string>

#include "compare/measure.h"
#include "team/context.h"

namespace mluop::compare {

// How the wrong elements of a comparison, of which there are some, are distributed over a tensor of this shape.
std::string pattern_of(Context& context, const Operands& operands, std::span<const int64_t> dims,
                       const Measured& measured);

}  // namespace mluop::compare
