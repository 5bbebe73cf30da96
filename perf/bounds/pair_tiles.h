// The index pairs of a sparse convolution, sorted by output tile and filter offset.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/indice_convolution_forward.h"

namespace mluop::perf {

// Consecutive pairs of one tile and one filter offset. `count` is a multiple of the rows of a register block.
struct PairChunk {
  int64_t k;
  size_t begin, count;
};

// A chunk is padded to whole register blocks with copies of its last input row; the products of the padding go to
// a row past the end of the tile. Construction is linear in the number of pairs.
struct PairTiles {
  // Limit per chunk, so that the input rows of a chunk fit in L1.
  static constexpr size_t kMaxPairs = 96;

  PairTiles(const reference::IndiceConvolutionForwardSizes& sizes, const int32_t* indice_pairs,
            const int64_t* indice_num, int64_t block_rows, int threads);

  size_t tile_count() const { return tiles.size() - 1; }
  std::pair<const PairChunk*, const PairChunk*> chunks_of(size_t tile) const {
    return {chunks.data() + tiles[tile], chunks.data() + tiles[tile + 1]};
  }
  // The last tile may have fewer rows than the others.
  size_t rows_of(size_t tile) const {
    return static_cast<size_t>(std::min(tile_rows, rows - static_cast<int64_t>(tile) * tile_rows));
  }

  int64_t rows, tile_rows;
  std::vector<size_t> tiles;  // [tile_count + 1], index of the first chunk of each tile
  std::vector<PairChunk> chunks;
  std::vector<uint32_t> input_offsets;   // [pairs], element offset of the row in features
  std::vector<uint32_t> output_offsets;  // [pairs], element offset of the row in the tile
};

}  // namespace mluop::perf
