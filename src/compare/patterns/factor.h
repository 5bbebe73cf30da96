// A constant factor: found = F x expected.
#pragma once

#include <string>

#include "compare/patterns/problem.h"

namespace mluop::compare {

// "each is 2 times what is expected"; "" unless it holds for every wrong element, of which there are several, up
// to a few roundings.
std::string factor(const Problem& problem);

}  // namespace mluop::compare
