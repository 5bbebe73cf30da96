// The kernels that build the search trees of the known points, in the order of their launches.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/dtype.h"
#include "ops/three_nn_forward/three_nn_forward_native_kernels.h"
#include "team/split.h"

namespace mluop::three_nn_forward::native {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The bounds of the finite points, and the lowest index.
struct Box : PointBounds {
  void add(const Point& point) {
    if (!is_finite(point)) return;
    PointBounds::add(point);
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

  // Zeros for an empty box, and in dimensions whose extent is 0 or infinite.
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

  int32_t first_index = std::numeric_limits<int32_t>::max();
};

// T: an element type.
template <class T>
Point load_point(const Args& args, int64_t b, int64_t m) {
  return mluop::load_point(static_cast<const T*>(args.known) + (b * args.M + m) * 3, m);
}

Split split_at(Point* points, int64_t count, int64_t middle) {
  const int dim = split_points(points, count, middle);
  return {dim, points[middle].coordinates[dim], points[middle].index};
}

// Writes the subtree of split `node`, limited to splits below `cells`, for points[0, count).
void split_sample(Point* points, int64_t count, Split* splits, int64_t cells, int64_t node) {
  if (node >= cells) return;
  const int64_t middle = count / 2;
  splits[node] = split_at(points, count, middle);
  split_sample(points, middle, splits, cells, 2 * node);
  split_sample(points + middle, count - middle, splits, cells, 2 * node + 1);
}

template <class T>
void sample(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  const int64_t subtrees = int64_t{1} << args.sample_levels;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / subtrees, subtree = item % subtrees;
    int64_t count = shape.sample_count();
    // Each subtree starts from the whole sample.
    Point* points = args.trees.points_of(shape, b) + subtree * count;
    // One point from each of `count` equal ranges; its position in the range varies, so that periodic points do
    // not matter.
    constexpr uint32_t kMultiplier = 2654435761U;  // Knuth's multiplicative hash
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = i * shape.points / count;
      const int64_t size = (i + 1) * shape.points / count - first;
      const auto hash = static_cast<uint32_t>(i + 1) * kMultiplier;
      points[i] = load_point<T>(args, b, first + (int64_t{hash} * size >> 32));
    }
    Split* const splits = args.trees.splits + b * shape.cells;
    int64_t node = 1;
    for (int level = args.sample_levels - 1; level >= 0; --level) {
      const int64_t middle = count / 2;
      const Split split = split_at(points, count, middle);
      // The first subtree below a node writes its split.
      if (subtree % (int64_t{2} << level) == 0) splits[node] = split;
      const int64_t child = subtree >> level & 1;
      points += child * middle;
      count = child == 0 ? middle : count - middle;
      node = 2 * node + child;
    }
    split_sample(points, count, splits, shape.cells, node);
  }
}

// The points of a chunk.
struct Chunk {
  Chunk(const TreeShape& shape, int64_t item) : b(item / shape.chunks), number(item % shape.chunks) {
    const int64_t first = number * shape.chunk_points;
    points = {first, std::min(first + shape.chunk_points, shape.points)};
  }
  int64_t b, number;
  Range points;
};

// The cell of a point: descends `levels` levels of splits from the root, splits[1].
int64_t cell_of(const float* coordinates, int32_t index, const Split* splits, int levels) {
  size_t node = 1;
  for (int level = 0; level < levels; ++level) {
    const Split& split = splits[node];
    const float coordinate = coordinates[split.dim];
    // Branch-free: half of the points take either side.
    const bool second = (coordinate > split.coordinate) | (static_cast<int>(coordinate == split.coordinate) &
                                                           static_cast<int>(index >= split.index));
    node = 2 * node + static_cast<size_t>(second);
  }
  return static_cast<int64_t>(node) - (int64_t{1} << levels);
}

template <class T>
void classify(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  for (int64_t item = begin; item < end; ++item) {
    const Chunk chunk(shape, item);
    const Split* splits = args.trees.splits + chunk.b * shape.cells;
    uint8_t* cell_of_point = args.trees.cell_of_point + chunk.b * shape.points;
    int32_t* counts = args.trees.positions + item * shape.cells;
    std::fill_n(counts, shape.cells, 0);
    for (int64_t m = chunk.points.begin; m < chunk.points.end; ++m) {
      const Point point = load_point<T>(args, chunk.b, m);
      const int64_t cell = cell_of(point.coordinates, point.index, splits, shape.cell_levels);
      cell_of_point[m] = static_cast<uint8_t>(cell);
      ++counts[cell];
    }
  }
}

void count(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / shape.cells, cell = item % shape.cells;
    int32_t* positions = args.trees.positions + b * shape.chunks * shape.cells + cell;
    int32_t before = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      int32_t& position = positions[chunk * shape.cells];
      before += std::exchange(position, before);
    }
    args.trees.cell_sizes[item] = before;
  }
}

template <class T>
void scatter(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  for (int64_t item = begin; item < end; ++item) {
    const Chunk chunk(shape, item);
    const int32_t* cell_sizes = args.trees.cell_sizes + chunk.b * shape.cells;
    const uint8_t* cell_of_point = args.trees.cell_of_point + chunk.b * shape.points;
    Point* points = args.trees.points_of(shape, chunk.b);
    int64_t next[TreeShape::kMaxCells];
    int64_t first_block = 0;
    for (int64_t cell = 0; cell < shape.cells; ++cell) {
      next[cell] = first_block * kWidth + args.trees.positions[item * shape.cells + cell];
      first_block += ceil_div(cell_sizes[cell], kWidth);
    }
    for (int64_t m = chunk.points.begin; m < chunk.points.end; ++m) {
      points[next[cell_of_point[m]]++] = load_point<T>(args, chunk.b, m);
    }
  }
}

// The blocks of a cell, in their tree.
class CellBlocks {
 public:
  // `nodes`: the nodes of level 0.
  CellBlocks(Block* blocks, Node* nodes) : blocks_(blocks), nodes_(nodes) {}

  // Sorts `count` points, which begin at the position of `block`, into blocks.
  void sort(int64_t block, int64_t count) const {
    if (count <= kWidth) return make_block(block, count);
    const int64_t half = ceil_div(count / 2, kWidth);
    split_points(reinterpret_cast<Point*>(blocks_ + block), count, half * kWidth);
    sort(block, half * kWidth);
    sort(block + half, count - half * kWidth);
  }

  // Clears the box of a block that does not exist.
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

RangeKernel<TreeArgs> sample_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<TreeArgs> { return sample<decltype(element)>; });
}

RangeKernel<TreeArgs> classify_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<TreeArgs> { return classify<decltype(element)>; });
}

RangeKernel<TreeArgs> count_kernel() { return count; }

RangeKernel<TreeArgs> scatter_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<TreeArgs> { return scatter<decltype(element)>; });
}

RangeKernel<TreeArgs> partition_kernel() { return partition; }

RangeKernel<LevelArgs> level_kernel() { return make_level; }

}  // namespace mluop::three_nn_forward::native
