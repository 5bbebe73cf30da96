// Where the wrong elements lie: an index, a tile, a border, a stride, several indices, everywhere.
#pragma once

#include <string>

#include "compare/patterns/hits.h"

namespace mluop::compare {

// "one channel: 3 of 16 (dim 3), 84 of its 84 elements"
std::string location(const Problem& problem, const Hits& hits);

}  // namespace mluop::compare
