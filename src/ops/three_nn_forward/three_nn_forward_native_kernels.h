// Three nearest neighbors forward, native algorithm: arguments and range kernels, in the order of their launches.
// convert and compare are used for few known points; the other kernels build and search trees.
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
  int sample_levels;  // the splits of a sample are computed by 2^sample_levels work items
};

// The kernels that build the trees. Each launch reads results of earlier launches.
// Work items: (b, subtree at level sample_levels). Computes the splits of a sample of the points in the subtree
// and on the way to it; overwrites the blocks.
RangeKernel<TreeArgs> sample_kernel(mluOpDataType_t dtype);
// Work items: (b, chunk of points). Finds the cell of each point, and the sizes of the cells in a chunk.
RangeKernel<TreeArgs> classify_kernel(mluOpDataType_t dtype);
// Work items: (b, cell). Counts the points of the cell in all chunks before each chunk, and in total.
RangeKernel<TreeArgs> count_kernel();
// Work items: (b, chunk of points). Writes the points in the order of cells; each cell starts at a whole block.
RangeKernel<TreeArgs> scatter_kernel(mluOpDataType_t dtype);
// Work items: (b, cell). Writes the blocks of the cell, and their boxes in the nodes of level 0.
RangeKernel<TreeArgs> partition_kernel();

// Work items: (b, node of a level), from level 1 on. Computes the boxes of the node from the nodes of the level
// below.
struct LevelArgs : TreeArgs {
  int level;
};
RangeKernel<LevelArgs> level_kernel();

// Work items: queries. Sorts a tile of queries by cell and part of the cell, so that the queries of a vector are
// near each other, and descends the tree with each vector, nearest child first; omits children without a better
// neighbor of any of its queries.
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
