#include "perf/floors/pair_tiles.h"

#include <algorithm>

namespace mluop::perf {
namespace {

constexpr int64_t kTileBytes = 256 << 10;
constexpr int64_t kChunkBytes = 24 << 10;
// For each thread, so that the last of them does not matter.
constexpr int64_t kLeastTiles = 32;

int64_t rows_of_tiles(const reference::IndiceConvolutionForwardSizes& sizes, int threads) {
  int64_t rows = kTileBytes / (sizes.Co * static_cast<int64_t>(sizeof(float)));
  while (rows > 1 && sizes.num_act_out / rows < kLeastTiles * threads) rows /= 2;
  return rows;
}

}  // namespace

PairTiles::PairTiles(const reference::IndiceConvolutionForwardSizes& sizes, const int32_t* indice_pairs,
                     const int64_t* indice_num, int64_t block_rows, int threads)
    : rows(sizes.num_act_out), tile_rows(rows_of_tiles(sizes, threads)) {
  const int64_t count = (rows + tile_rows - 1) / tile_rows;
  // [tile][offset]
  std::vector<std::vector<std::pair<int32_t, int32_t>>> sorted(static_cast<size_t>(count * sizes.K()));
  for (int64_t k = 0; k < sizes.K(); ++k) {
    const int32_t* from = indice_pairs + 2 * k * sizes.num_act_in;
    for (int64_t l = 0; l < indice_num[k]; ++l) {
      const int32_t output = from[sizes.num_act_in + l];
      sorted[static_cast<size_t>(output / tile_rows * sizes.K() + k)].emplace_back(from[l], output);
    }
  }
  const auto block = static_cast<size_t>(block_rows);
  const auto row_bytes = static_cast<size_t>(sizes.Ci) * sizeof(float);
  const size_t most = std::clamp(kChunkBytes / row_bytes / block * block, block, kMostPairs);
  for (int64_t tile = 0; tile < count; ++tile) {
    tiles.push_back(chunks.size());
    for (int64_t k = 0; k < sizes.K(); ++k) {
      const auto& pairs = sorted[static_cast<size_t>(tile * sizes.K() + k)];
      for (size_t begin = 0; begin < pairs.size(); begin += most) {
        const size_t end = std::min(begin + most, pairs.size());
        chunks.push_back({k, inputs.size(), (end - begin + block - 1) / block * block});
        for (size_t i = begin; i < end; ++i) {
          inputs.push_back(static_cast<uint32_t>(pairs[i].first * sizes.Ci));
          places.push_back(static_cast<uint32_t>((pairs[i].second - tile * tile_rows) * sizes.Co));
        }
        inputs.resize(chunks.back().begin + chunks.back().count, inputs.back());
        places.resize(inputs.size(), static_cast<uint32_t>(tile_rows * sizes.Co));
      }
    }
  }
  tiles.push_back(chunks.size());
}

}  // namespace mluop::perf
