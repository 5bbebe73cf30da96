// A permutation of the indices of one dimension, such as rows in another order.
#pragma once

#include <string>

#include "compare/patterns/hits.h"

namespace mluop::compare {

// "3 of 16 indices of channel are permuted (dim 3): 1 -> 2, 2 -> 9, 9 -> 1": index of expected -> index of found.
// "" if there is no permutation, or the dimension has more than 2^20 indices.
std::string permutation(const Problem& problem, const Hits& hits);

}  // namespace mluop::compare
