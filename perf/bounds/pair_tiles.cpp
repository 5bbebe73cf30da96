#include "perf/bounds/pair_tiles.h"

#include <algorithm>

namespace mluop::perf {
namespace {

constexpr int64_t kTileBytes = 256 << 10;
constexpr int64_t kChunkBytes = 24 << 10;
// Per thread: limits the time that threads wait for the last tile.
constexpr int64_t kMinTiles = 32;

int64_t rows_per_tile(const reference::IndiceConvolutionForwardSizes& sizes, int threads) {
  int64_t rows = kTileBytes / (sizes.Co * static_cast<int64_t>(sizeof(float)));
  while (rows > 1 && sizes.num_act_out / rows < kMinTiles * threads) rows /= 2;
  return rows;
}

}  // namespace

PairTiles::PairTiles(const reference::IndiceConvolutionForwardSizes& sizes, const int32_t* indice_pairs,
                     const int64_t* indice_num, int64_t block_rows, int threads)
    : rows(sizes.num_act_out), tile_rows(rows_per_tile(sizes, threads)) {
  const int64_t count = (rows + tile_rows - 1) / tile_rows;
  // [tile][offset]
  std::vector<std::vector<std::pair<int32_t, int32_t>>> sorted(static_cast<size_t>(count * sizes.K()));
  for (int64_t k = 0; k < sizes.K(); ++k) {
    const int32_t* inputs = indice_pairs + 2 * k * sizes.num_act_in;
    const int32_t* outputs = inputs + sizes.num_act_in;
    for (int64_t l = 0; l < indice_num[k]; ++l) {
      sorted[static_cast<size_t>(outputs[l] / tile_rows * sizes.K() + k)].emplace_back(inputs[l], outputs[l]);
    }
  }
  const auto block = static_cast<size_t>(block_rows);
  const auto row_bytes = static_cast<size_t>(sizes.Ci) * sizeof(float);
  const size_t max_pairs = std::clamp(kChunkBytes / row_bytes / block * block, block, kMaxPairs);
  for (int64_t tile = 0; tile < count; ++tile) {
    tiles.push_back(chunks.size());
    for (int64_t k = 0; k < sizes.K(); ++k) {
      const auto& pairs = sorted[static_cast<size_t>(tile * sizes.K() + k)];
      for (size_t begin = 0; begin < pairs.size(); begin += max_pairs) {
        const size_t end = std::min(begin + max_pairs, pairs.size());
        chunks.push_back({k, input_offsets.size(), (end - begin + block - 1) / block * block});
        for (size_t i = begin; i < end; ++i) {
          input_offsets.push_back(static_cast<uint32_t>(pairs[i].first * sizes.Ci));
          output_offsets.push_back(static_cast<uint32_t>((pairs[i].second - tile * tile_rows) * sizes.Co));
        }
        input_offsets.resize(chunks.back().begin + chunks.back().count, input_offsets.back());
        output_offsets.resize(input_offsets.size(), static_cast<uint32_t>(tile_rows * sizes.Co));
      }
    }
  }
  tiles.push_back(chunks.size());
}

}  // namespace mluop::perf
