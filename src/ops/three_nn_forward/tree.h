// Three nearest neighbors forward: the search tree of the known points of a batch.
//
// The points are sorted into blocks of kWidth nearby points. Level 0 of the tree has a node for every kWidth
// blocks, level l + 1 a node for every kWidth nodes of level l; the top level is the root. A node stores the
// bounding boxes of its children and the lowest index in each. To sort, a k-d tree of a sample partitions the
// points into cells, and k-d trees partition the cells: both split at medians of (coordinate, index), so that any
// distribution, even of equal points, yields full blocks. Points with a non-finite coordinate are never neighbors:
// all their coordinates are infinite here.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "primitives/geometry/point_split.h"

namespace mluop::three_nn_forward::native {

// Points of a block, and children of a node: as many floats as fit a cache line.
inline constexpr int64_t kWidth = 16;

// A known point during the sort.
using Point = IndexedPoint;

// Sorted points. Padding has infinite coordinates.
struct Block {
  float coordinates[3][kWidth];
  int32_t indices[kWidth];
};
static_assert(sizeof(Block) == kWidth * sizeof(Point), "blocks replace the points that they are made of");

// Empty boxes, of children that do not exist or have no finite point, have low = +infinity.
struct Node {
  float low[3][kWidth];
  float high[3][kWidth];
  int32_t first_index[kWidth];  // lowest index in each child
};

// A node of the k-d tree of the sample: points below (coordinate, index) descend to its first child.
struct Split {
  int32_t dim;
  float coordinate;
  int32_t index;
};

// The box of the points of a cell: its least corner, and the factors that map it to [0, 4) in each dimension; 0 in
// dimensions without extent.
struct CellBox {
  float low[3];
  float scale[3];
};

// Sizes that depend only on M.
struct TreeShape {
  static constexpr int kMaxLevels = 8;
  static constexpr int64_t kCellPoints = 64;  // on average, up to kMaxCells cells
  static constexpr int64_t kMaxCells = 256;
  static constexpr int64_t kSamplesPerCell = 8;
  static constexpr int64_t kMaxSamples = kCellPoints / kSamplesPerCell;  // that fit the memory of the points
  // Points counted together: enough chunks for many cores, and few enough for the scan of their counts.
  static constexpr int64_t kMinChunkPoints = 512;
  static constexpr int64_t kMaxChunks = 256;

  // M must be at least kCellPoints.
  explicit TreeShape(int64_t M) : points(M), first_node{}, node_count{} {
    const auto wanted = static_cast<uint64_t>(std::min(M / kCellPoints, kMaxCells));
    cells = static_cast<int64_t>(std::bit_floor(wanted));
    cell_levels = static_cast<int>(std::bit_width(wanted)) - 1;
    chunk_points = std::max(kMinChunkPoints, ceil_div(M, kMaxChunks));
    chunks = ceil_div(M, chunk_points);
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

  int64_t sample_count() const { return cells * kSamplesPerCell; }

  int64_t points;
  int cell_levels;  // levels of the k-d tree of the sample
  int64_t cells;    // 2^cell_levels
  int64_t chunk_points;
  int64_t chunks;      // chunks of points
  int64_t max_blocks;  // cells are rounded up to whole blocks
  int levels;
  std::array<int64_t, kMaxLevels> first_node;  // first node of each level, in the nodes of a batch
  std::array<int64_t, kMaxLevels> node_count;  // nodes of each level
  int64_t nodes;                               // nodes of all levels
};

// The workspace for B trees.
struct Trees {
  Trees(Arena& arena, int64_t B, const TreeShape& shape)
      : blocks(arena.take<Block>("blocks", {B, shape.max_blocks})),
        nodes(arena.take<Node>("nodes", {B, shape.nodes})),
        splits(arena.take<Split>("splits", {B, shape.cells})),
        cell_of_point(arena.take<uint8_t>("cell of point", {B, shape.points})),
        positions(arena.take<int32_t>("positions", {B, shape.chunks, shape.cells})),
        cell_sizes(arena.take<int32_t>("cell sizes", {B, shape.cells})),
        cell_boxes(arena.take<CellBox>("cell boxes", {B, shape.cells})) {}

  // The points of a batch before they are sorted into blocks: room for kMaxSamples samples.
  Point* points_of(const TreeShape& shape, int64_t b) const {
    return reinterpret_cast<Point*>(blocks + b * shape.max_blocks);
  }

  Block* blocks;           // [B, max_blocks]
  Node* nodes;             // [B, nodes]
  Split* splits;           // [B, cells], the root is element 1, the children of i are 2 i and 2 i + 1
  uint8_t* cell_of_point;  // [B, points]
  int32_t* positions;      // [B, chunks, cells]: points of a cell in a chunk; then in all chunks before
  int32_t* cell_sizes;     // [B, cells]
  CellBox* cell_boxes;     // [B, cells]
};

}  // namespace mluop::three_nn_forward::native
