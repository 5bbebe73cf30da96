// Indice convolution forward: pairs whose products a task adds at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "primitives/prefetch.h"

namespace mluop::indice_convolution_forward {

// Pairs of one tile and one offset, each with another row of the output: so their sums can be in registers at the
// same time.
struct Chunk {
  int64_t tile = 0;
  int64_t k = 0;
  int64_t count = 0;
  const int32_t* inputs = nullptr;   // [count], rows of features
  const int32_t* outputs = nullptr;  // [count], rows of features_out

  // [pairs], for what does not lie together in indice_pairs.
  int32_t* gathered_inputs = nullptr;
  int32_t* gathered_outputs = nullptr;
};

// Fetches the rows of a chunk into the cache, some at each of `steps` steps: all at once they would wait for each
// other, and what comes next for them.
class RowFetcher {
 public:
  RowFetcher(const Chunk& chunk, const void* features, int64_t row_bytes, int64_t steps)
      : input_(chunk.inputs),
        end_(chunk.inputs + chunk.count),
        features_(static_cast<const char*>(features)),
        row_bytes_(row_bytes),
        rows_((chunk.count + steps - 1) / steps) {}

  void fetch() {
    for (const int32_t* const stop = input_ + std::min<int64_t>(rows_, end_ - input_); input_ < stop; ++input_) {
      prefetch_row<Use::kRead>(features_ + *input_ * row_bytes_, row_bytes_);
    }
  }

 private:
  const int32_t* input_;
  const int32_t* end_;
  const char* features_;
  int64_t row_bytes_;
  int64_t rows_;  // a step
};

}  // namespace mluop::indice_convolution_forward
