// Three nearest neighbors forward, native algorithm: arguments and range kernels, in the order of their launches.
// convert and compare are for few known points; the others build and search trees.
#pragma once

#include <cstdint>

#include "ops/three_nn_forward/three_nn_forward.h"
#include "ops/three_nn_forward/tree.h"
#include "team/launch.h"

namespace mluop::three_nn_forward::native {

// Work items: the elements of known. Converts them to fp32.
struct ConvertArgs : Args {
  float* known_f32;  // [B, M, 3]
};
RangeKernel<ConvertArgs> convert_kernel(mluOpDataType_t dtype);

// Work items: queries. Compares each with all known points, a vector of queries at a time.
struct CompareArgs : Args {
  const float* known_f32;  // [B, M, 3]
};
RangeKernel<CompareArgs> compare_kernel(mluOpDataType_t dtype);

struct TreeArgs : Args {
  const TreeShape& shape;
  const Trees& trees;
};

// The kernels that build the trees. A launch reads what the ones before it have written.
// Work items: batches. The splits of a sample of the points; overwrites the blocks.
RangeKernel<TreeArgs> sample_kernel(mluOpDataType_t dtype);
// Work items: (b, chunk of points). The cell of each point, and the sizes of the cells in a chunk.
RangeKernel<TreeArgs> classify_kernel(mluOpDataType_t dtype);
// Work items: (b, cell). The points of the cell in the chunks before each chunk, and in all.
RangeKernel<TreeArgs> count_kernel();
// Work items: (b, chunk of points). The points in the order of cells, each from a whole block on.
RangeKernel<TreeArgs> scatter_kernel(mluOpDataType_t dtype);
// Work items: (b, cell). The blocks of the cell, and their boxes in the nodes of level 0.
RangeKernel<TreeArgs> partition_kernel();

// Work items: (b, node of a level). The boxes of the node: those of the nodes of the level below. From level 1 on.
struct LevelArgs : TreeArgs {
  int level;
};
RangeKernel<LevelArgs> level_kernel();

// Work items: queries. Sorts a tile of queries by cell and part of the cell, so that vectors of them are near each
// other, and descends the tree with each vector, nearest child first; omits children that have no better neighbor
// of any of its queries.
struct SearchArgs : TreeArgs {
  int64_t tile_queries;
};
RangeKernel<SearchArgs> search_kernel(mluOpDataType_t dtype);

// The NRAM of search_kernel().
struct SearchTile {
  SearchTile(Arena& nram, int64_t queries)
      : cells(nram.take<uint8_t>("cells", {queries})),
        parts(nram.take<uint8_t>("parts of cells", {queries})),
        by_part(nram.take<int32_t>("order by part", {queries})),
        order(nram.take<int32_t>("order", {queries})) {}

  uint8_t* cells;    // [queries]
  uint8_t* parts;    // [queries]
  int32_t* by_part;  // [queries], ascending by part
  int32_t* order;    // [queries], ascending by (cell, part)
};

}  // namespace mluop::three_nn_forward::native
