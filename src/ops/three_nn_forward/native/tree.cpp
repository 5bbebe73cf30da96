#include "ops/three_nn_forward/native/tree.h"

#include <algorithm>
#include <bit>

namespace mluop::three_nn_forward::native {

TreeShape::TreeShape(int64_t M) : points(M), first_node{}, node_count{} {
  const auto wanted = static_cast<uint64_t>(std::min(M / kCellPoints, kMaxCells));
  cells = static_cast<int64_t>(std::bit_floor(wanted));
  cell_levels = static_cast<int>(std::bit_width(wanted)) - 1;
  chunks = ceil_div(M, kChunkPoints);
  max_blocks = ceil_div(M, kWidth) + cells;
  levels = 0;
  nodes = 0;
  int64_t count = max_blocks;
  do {
    count = ceil_div(count, kWidth);
    first_node[static_cast<size_t>(levels)] = nodes;
    node_count[static_cast<size_t>(levels)] = count;
    nodes += count;
    ++levels;
  } while (count > 1);
}

}  // namespace mluop::three_nn_forward::native
