// Indice convolution forward: the pairs of a task, chunk by chunk.
#pragma once

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>

#include "ops/indice_convolution_forward/kernels.h"
#include "primitives/prefetch.h"

namespace mluop::indice_convolution_forward {

// Pairs of one tile and one offset, each with another row of the output: so their sums can be in registers at the
// same time. T: float or Half.
template <class T>
struct Chunk {
  int64_t tile = 0;
  int64_t k = 0;
  int64_t count = 0;
  const T** rows;    // [pairs], of features
  uint32_t* places;  // [pairs], where in the tile's sums the row of the output begins
};

// Fetches the rows of a chunk into the cache, some at each of `steps` steps: all at once they would wait for each
// other, and what comes next for them.
template <class T>
class RowFetcher {
 public:
  RowFetcher(const Chunk<T>& chunk, int64_t channels, int64_t steps)
      : row_(chunk.rows),
        end_(chunk.rows + chunk.count),
        bytes_(channels * int64_t{sizeof(T)}),
        rows_((chunk.count + steps - 1) / steps) {}

  void fetch() {
    for (const T* const* const stop = row_ + std::min<int64_t>(rows_, end_ - row_); row_ < stop; ++row_) {
      prefetch_row<Use::kRead>(*row_, bytes_);
    }
  }

 private:
  const T* const* row_;
  const T* const* end_;
  int64_t bytes_;  // of a row
  int64_t rows_;   // a step
};

// Reads the pairs of the tiles [tile, last_tile) in their order, and fetches the indices of the chunk after the
// one that is read.
template <class T>
class ChunkReader {
 public:
  // `seen` has a number for each row of a tile.
  ChunkReader(const ConvolveArgs& args, int64_t tile, int64_t last_tile, int64_t place_stride, int32_t* seen)
      : call_(args.call),
        buckets_(args.buckets),
        pairs_(args.tiling.pairs),
        place_stride_(place_stride),
        tile_(tile),
        at_(buckets_.counting.starts[tile]),
        end_(buckets_.counting.starts[last_tile]),
        seen_(seen) {
    std::fill_n(seen, size_t{1} << buckets_.shift, 0);
    find_offset();
  }

  // Makes `chunk` the next one. False: there is none.
  bool read(Chunk<T>& chunk) {
    if (at_ == end_) return false;
    const int32_t* starts = buckets_.counting.starts;
    while (starts[tile_ + 1] == at_) ++tile_;
    const int32_t first = buckets_.first_numbers[k_];
    const auto past = static_cast<uint32_t>(buckets_.first_numbers[k_ + 1] - first);
    const int64_t most = std::min<int64_t>(starts[tile_ + 1] - at_, pairs_);
    const int32_t* HWY_RESTRICT numbers = buckets_.order + at_;
    const int32_t* HWY_RESTRICT inputs = call_.inputs(k_);
    const int32_t* HWY_RESTRICT outputs = call_.outputs(k_);
    const T* HWY_RESTRICT features = static_cast<const T*>(call_.features);
    const T** HWY_RESTRICT rows = chunk.rows;
    uint32_t* HWY_RESTRICT places = chunk.places;
    int32_t* HWY_RESTRICT seen = seen_;
    const int64_t row_stride = call_.Ci;
    const int64_t place_stride = place_stride_;
    const int64_t first_row = tile_ << buckets_.shift;
    const int32_t chunk_number = ++chunk_number_;
    int64_t count = 0;
    for (; count < most; ++count) {
      const auto l = static_cast<uint32_t>(numbers[count] - first);
      if (l >= past) break;
      const int64_t row = outputs[l] - first_row;
      if (seen[row] == chunk_number) break;
      seen[row] = chunk_number;
      places[count] = static_cast<uint32_t>(row * place_stride);
      rows[count] = features + inputs[l] * row_stride;
    }
    chunk.tile = tile_;
    chunk.k = k_;
    chunk.count = count;
    at_ += static_cast<int32_t>(count);
    find_offset();
    return true;
  }

 private:
  static constexpr int64_t kLine = 64;
  // Indices of the next chunk that are fetched ahead. Mostly they follow each other.
  static constexpr int64_t kPrefetchedPairs = 128;

  // The offset of the next pair, and its indices into the cache.
  void find_offset() {
    if (at_ == end_) return;
    const int32_t* firsts = buckets_.first_numbers;
    const int32_t pair = buckets_.order[at_];
    if (firsts[k_] <= pair && pair < firsts[k_ + 1]) return;
    if (pair < firsts[k_]) k_ = 0;  // of the next tile
    while (pair >= firsts[k_ + 1]) ++k_;
    const int32_t* inputs = call_.inputs(k_) + (pair - firsts[k_]);
    for (int64_t i = 0; i < kPrefetchedPairs; i += kLine / int64_t{sizeof(int32_t)}) {
      hwy::Prefetch(inputs + i);
      hwy::Prefetch(inputs + call_.N + i);
    }
  }

  const Args& call_;
  const Buckets& buckets_;
  int64_t pairs_, place_stride_;
  int64_t tile_;
  int64_t k_ = 0;
  int32_t at_, end_;
  int32_t* seen_;  // [rows of a tile], the chunk that named a row last
  int32_t chunk_number_ = 0;
};

}  // namespace mluop::indice_convolution_forward
