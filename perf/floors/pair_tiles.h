// The pairs of a sparse convolution, by tile of its output.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/indice_convolution_forward.h"

namespace mluop::perf {

// Pairs of one tile and one offset, whole blocks of them.
struct PairChunk {
  int64_t k;
  size_t begin, count;
};

// Every chunk is filled up to whole blocks with its last row, whose products go to a row past the tile.
struct PairTiles {
  // Of a chunk: their rows stay in the first level of the cache.
  static constexpr size_t kMostPairs = 96;

  PairTiles(const reference::IndiceConvolutionForwardSizes& sizes, const int32_t* indice_pairs,
            const int64_t* indice_num, int64_t block_rows, int threads);

  size_t tile_count() const { return tiles.size() - 1; }
  std::pair<const PairChunk*, const PairChunk*> chunks_of(size_t tile) const {
    return {chunks.data() + tiles[tile], chunks.data() + tiles[tile + 1]};
  }
  // The last tile may have fewer.
  size_t rows_of(size_t tile) const {
    return static_cast<size_t>(std::min(tile_rows, rows - static_cast<int64_t>(tile) * tile_rows));
  }

  int64_t rows, tile_rows;
  std::vector<size_t> tiles;  // [tile_count + 1], in `chunks`
  std::vector<PairChunk> chunks;
  std::vector<uint32_t> inputs;  // where the row of features begins
  std::vector<uint32_t> places;  // where the row of the tile begins
};

}  // namespace mluop::perf
