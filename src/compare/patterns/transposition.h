// A transposition: one tensor holds the elements of the other with its dimensions in another order.
#pragma once

#include <string>

#include "compare/patterns/problem.h"

namespace mluop::compare {

// "transposed: found has the dims of expected in the order 0, 2, 1", or the same with both tensors exchanged. ""
// if no order of up to 5 dimensions with several indices makes all elements equal within the tolerance.
std::string transposition(const Problem& problem);

}  // namespace mluop::compare
