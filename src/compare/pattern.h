// The pattern of the wrong elements: hypotheses, the most specific first. Each is verified for every wrong element
// before it is reported. Cost: a pass over the blocks with wrong elements, and more while a hypothesis holds.
#pragma once

#include <span>
#include <string>

#include "compare/measure.h"
#include "team/context.h"

namespace mluop::compare {

// Describes how the wrong elements of a comparison are distributed over the tensor; there is at least one.
std::string pattern_of(Context& context, const Operands& operands, std::span<const int64_t> dims,
                       const Measured& measured);

}  // namespace mluop::compare
