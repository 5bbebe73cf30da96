// Nearest points in a plane by their definition: a serial loop in fp32, whose bits the library returns. The oracle
// of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct NearestSizes {
  int64_t B, N, M;
};

// For each query [B, N, 2]: the least squared distance to a known point [B, M, 2] that is not NaN, and the first
// point at this distance. NaN and 0 if all distances are NaN; 0 and 0 if M is 0. T: float, Half or BFloat16.
template <class T>
void find_nearest(const NearestSizes& sizes, const T* queries, const T* known, T* dist, int32_t* idx);

}  // namespace mluop::reference
