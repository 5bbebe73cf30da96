// The kernels that make blocks and nodes of the cells.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "ops/three_nn_forward/native/kd_split.h"
#include "ops/three_nn_forward/native/kernels.h"

namespace mluop::three_nn_forward::native {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The bounds of the finite points.
struct Box {
  void add(const Point& point) {
    if (point.coordinates[0] == kInfinity) return;
    for (int dim = 0; dim < 3; ++dim) {
      low[dim] = std::min(low[dim], point.coordinates[dim]);
      high[dim] = std::max(high[dim], point.coordinates[dim]);
    }
    first_index = std::min(first_index, point.index);
  }
  void add_children(const Node& node) {
    for (int64_t child = 0; child < kWidth; ++child) {
      for (int dim = 0; dim < 3; ++dim) {
        low[dim] = std::min(low[dim], node.low[dim][child]);
        high[dim] = std::max(high[dim], node.high[dim][child]);
      }
      first_index = std::min(first_index, node.first_index[child]);
    }
  }
  void store(Node& node, int64_t child) const {
    for (int dim = 0; dim < 3; ++dim) {
      node.low[dim][child] = low[dim];
      node.high[dim][child] = high[dim];
    }
    node.first_index[child] = first_index;
  }

  // Zeros for an empty box, and where the extent is 0 or infinite.
  CellBox cell_box() const {
    CellBox box{};
    for (int dim = 0; dim < 3; ++dim) {
      const float scale = 4 / (high[dim] - low[dim]);
      if (!(scale > 0 && scale < kInfinity)) continue;
      box.low[dim] = low[dim];
      box.scale[dim] = scale;
    }
    return box;
  }

  float low[3] = {kInfinity, kInfinity, kInfinity};
  float high[3] = {-kInfinity, -kInfinity, -kInfinity};
  int32_t first_index = std::numeric_limits<int32_t>::max();
};

int widest_dim(const Point* points, int64_t count) {
  Box box;
  for (int64_t i = 0; i < count; ++i) box.add(points[i]);
  int widest = 0;
  for (int dim = 1; dim < 3; ++dim) {
    if (box.high[dim] - box.low[dim] > box.high[widest] - box.low[widest]) widest = dim;
  }
  return widest;
}

// The blocks of a cell, in their tree.
class CellBlocks {
 public:
  // `nodes`: those of level 0.
  CellBlocks(Block* blocks, Node* nodes) : blocks_(blocks), nodes_(nodes) {}

  // Sorts `count` points, which begin where `block` does, into blocks.
  void sort(int64_t block, int64_t count) const {
    if (count <= kWidth) return make_block(block, count);
    const int64_t half = ceil_div(count / 2, kWidth);
    split_at(reinterpret_cast<Point*>(blocks_ + block), count, half * kWidth);
    sort(block, half * kWidth);
    sort(block + half, count - half * kWidth);
  }

  // Makes the box of a block that does not exist.
  void clear(int64_t block) const { Box().store(nodes_[block / kWidth], block % kWidth); }

 private:
  void make_block(int64_t block, int64_t count) const {
    Point points[kWidth];
    std::memcpy(points, blocks_ + block, static_cast<size_t>(count) * sizeof(Point));
    std::fill(points + count, points + kWidth,
              Point{{kInfinity, kInfinity, kInfinity}, std::numeric_limits<int32_t>::max()});
    Box box;
    Block sorted;
    for (int64_t i = 0; i < kWidth; ++i) {
      box.add(points[i]);
      for (int dim = 0; dim < 3; ++dim) sorted.coordinates[dim][i] = points[i].coordinates[dim];
      sorted.indices[i] = points[i].index;
    }
    std::memcpy(blocks_ + block, &sorted, sizeof(sorted));
    box.store(nodes_[block / kWidth], block % kWidth);
  }

  Block* blocks_;
  Node* nodes_;
};

void partition(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / shape.cells, cell = item % shape.cells;
    const int32_t* sizes = args.trees.cell_sizes + b * shape.cells;
    const CellBlocks blocks(args.trees.blocks + b * shape.max_blocks, args.trees.nodes + b * shape.nodes);
    int64_t first = 0;
    for (int64_t before = 0; before < cell; ++before) first += ceil_div(sizes[before], kWidth);
    Box box;
    const Point* points = args.trees.points_of(shape, b) + first * kWidth;
    for (int32_t i = 0; i < sizes[cell]; ++i) box.add(points[i]);
    args.trees.cell_boxes[item] = box.cell_box();
    if (sizes[cell] > 0) blocks.sort(first, sizes[cell]);
    if (cell + 1 < shape.cells) continue;
    const int64_t last = shape.node_count[0] * kWidth;
    for (int64_t block = first + ceil_div(sizes[cell], kWidth); block < last; ++block) blocks.clear(block);
  }
}

void make_level(const LevelArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  const auto level = static_cast<size_t>(args.level);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / shape.node_count[level], number = item % shape.node_count[level];
    Node* nodes = args.trees.nodes + b * shape.nodes;
    const Node* below = nodes + shape.first_node[level - 1];
    Node& node = nodes[shape.first_node[level] + number];
    for (int64_t child = 0; child < kWidth; ++child) {
      Box box;
      if (const int64_t from = number * kWidth + child; from < shape.node_count[level - 1]) {
        box.add_children(below[from]);
      }
      box.store(node, child);
    }
  }
}

}  // namespace

int split_at(Point* points, int64_t count, int64_t middle) {
  const int dim = widest_dim(points, count);
  std::nth_element(points, points + middle, points + count, [dim](const Point& a, const Point& b) {
    const float x = a.coordinates[dim], y = b.coordinates[dim];
    return x < y || (x == y && a.index < b.index);
  });
  return dim;
}

RangeKernel<TreeArgs> partition_kernel() { return partition; }

RangeKernel<LevelArgs> level_kernel() { return make_level; }

}  // namespace mluop::three_nn_forward::native
