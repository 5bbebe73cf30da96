// Indice convolution: index pairs whose products a task adds together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "primitives/matmul.h"
#include "primitives/prefetch.h"

namespace mluop::indice_convolution::native {

// Pairs of one tile and one offset. Their output rows differ, so that the sums of several can be in registers at
// the same time.
struct Chunk {
  int64_t tile = 0;
  int64_t k = 0;
  int64_t count = 0;
  const int32_t* inputs = nullptr;   // [count], rows of features
  const int32_t* outputs = nullptr;  // [count], rows of features_out
};

// Copies of the indices of consecutive pairs of one tile and one offset.
struct PairBuffers {
  // Room for `max_pairs` pairs; whole vectors are stored to gathered_inputs. The buffers are one piece of NRAM, as
  // each piece is padded.
  PairBuffers(Arena& nram, int64_t max_pairs)
      : gathered_inputs(nram.take<int32_t>("pairs", {6 * max_pairs + kMaxLanes})),
        gathered_outputs(gathered_inputs + max_pairs + kMaxLanes),
        divided_inputs(gathered_outputs + max_pairs),
        divided_outputs(divided_inputs + max_pairs),
        chunk_of_pair(divided_outputs + max_pairs),
        chunk_ends(chunk_of_pair + max_pairs) {}

  // Indices that are not contiguous in indice_pairs.
  int32_t* gathered_inputs;
  int32_t* gathered_outputs;
  // Indices of several chunks, one chunk after the other.
  int32_t* divided_inputs;
  int32_t* divided_outputs;
  int32_t* chunk_of_pair;  // [max_pairs], before the pairs are divided
  int32_t* chunk_ends;     // [chunks]
};

// Prefetches the input rows of a chunk in `steps` steps: all prefetches at once would exceed the line fill buffers
// and delay the loads that follow.
class RowPrefetcher {
 public:
  RowPrefetcher(const Chunk& chunk, const void* features, int64_t row_bytes, int64_t steps)
      : input_(chunk.inputs),
        end_(chunk.inputs + chunk.count),
        features_(static_cast<const char*>(features)),
        row_bytes_(row_bytes),
        step_rows_(ceil_div(chunk.count, steps)) {}

  void prefetch_step() {
    const int32_t* const stop = input_ + std::min<int64_t>(step_rows_, end_ - input_);
    for (; input_ < stop; ++input_) prefetch_row<Use::kRead>(features_ + *input_ * row_bytes_, row_bytes_);
  }

 private:
  const int32_t* input_;
  const int32_t* end_;
  const char* features_;
  int64_t row_bytes_;
  int64_t step_rows_;
};

}  // namespace mluop::indice_convolution::native
