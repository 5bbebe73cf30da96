// Three nearest neighbors forward: a split of a k-d tree.
#pragma once

#include <cstdint>

#include "ops/three_nn_forward/native/tree.h"

namespace mluop::three_nn_forward::native {

// Partitions points[0, count) by the dimension in which they extend farthest: those before `middle` have lesser
// (coordinate, index) than those from it on, and points[middle] has the least of the latter. Returns the
// dimension. Linear cost.
int split_at(Point* points, int64_t count, int64_t middle);

}  // namespace mluop::three_nn_forward::native
