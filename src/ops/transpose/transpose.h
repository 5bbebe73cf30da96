// Transpose: the arguments of its kernel.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop::transpose {

struct Args {
  int64_t N, A, B;
  const void* input;  // [N, A, B]
  void* output;       // [N, B, A]
  bool stream;        // the output bypasses the caches
};

// Rows of the output that a work item has: runs of the input that the prefetchers of processors follow.
constexpr int64_t kRows = 256;

// Work items: (n, kRows rows of the output).
RangeKernel<Args> transpose_kernel(mluOpDataType_t dtype);

}  // namespace mluop::transpose
