// Three nearest neighbors forward by its definition: the serial loop over batches, unknown and known points. The
// oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct ThreeNNForwardSizes {
  int64_t B, N, M;
};

// T: float, Half or BFloat16. Each difference, product and sum is rounded to half for Half, otherwise to fp32. The
// library must return the same bits.
template <class T>
void three_nn_forward(const ThreeNNForwardSizes& sizes, const T* unknown, const T* known, T* dist2, int32_t* idx);

}  // namespace mluop::reference
