// Indice max pooling, native algorithm: memory, arguments and range kernels.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/indice_maxpool/indice_maxpool.h"
#include "primitives/sort/bucket_sort.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::indice_maxpool::native {

// The inputs of each row of the result, in the order of offsets and pairs; the buckets are rows.
using SortedPairs = BucketSort<int32_t>;

// Work items: pairs. The first kernel counts the pairs of each row, the second sorts them. Pairs with a negative
// index are skipped; the first kernel reports other indices out of range.
struct SortArgs : PooledRows {
  SortedPairs& sorted;
  FirstBadItem& first_bad;
};
void count_pairs(const SortArgs& args, int64_t begin, int64_t end, Task& task);
void sort_pairs(const SortArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: rows of the result.
struct PoolArgs : ForwardArgs {
  const SortedPairs& sorted;
};
struct GradientArgs : BackwardArgs {
  const SortedPairs& sorted;
};
RangeKernel<PoolArgs> pool_kernel(mluOpDataType_t dtype);
RangeKernel<GradientArgs> gradient_kernel(mluOpDataType_t dtype);

}  // namespace mluop::indice_maxpool::native
