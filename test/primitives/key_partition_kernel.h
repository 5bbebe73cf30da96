// The kernels of a minimal operator on key_partition.h: the keys of its points are given, and it records its
// visits. For tests.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/key_partition.h"

namespace mluop::test {

struct Visit {
  int64_t point, key;
};

struct CountArgs {
  const SampledRuns& sample;
  KeyPartition& partition;
  const int32_t* keys;  // [point_count]
};
// Work items: sampled runs.
void count_keys(const CountArgs& args, int64_t begin, int64_t end, Task& task);

// The following run on the instruction set that the library has chosen.

struct RankArgs {
  const KeyPartition& partition;
  const KeyedPoints& points;
};
// Work items: chunks of points.
RangeKernel<RankArgs> rank_kernel();

struct VisitArgs {
  const KeyedPoints& points;
  int64_t tile_points;
  int64_t lookahead;
  std::vector<std::vector<Visit>>& visits;  // of each task; empty if a prefetch precedes no visit
};
// Work items: ranks of buckets.
RangeKernel<VisitArgs> visit_kernel();

}  // namespace mluop::test
