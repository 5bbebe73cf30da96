// Three nearest neighbors forward by its definition: the serial loop over batches, unknown and known points. The
// oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

#include "reference/half.h"

namespace mluop::reference {

struct ThreeNNForwardSizes {
  int64_t B, N, M;

  int64_t unknown_count() const { return B * N * 3; }
  int64_t known_count() const { return B * M * 3; }
};

// Each difference, product and sum is rounded to the element type. The library must return the same bits.
void three_nn_forward(const ThreeNNForwardSizes& sizes, const float* unknown, const float* known, float* dist2,
                      int32_t* idx);
void three_nn_forward(const ThreeNNForwardSizes& sizes, const Half* unknown, const Half* known, Half* dist2,
                      int32_t* idx);

}  // namespace mluop::reference
