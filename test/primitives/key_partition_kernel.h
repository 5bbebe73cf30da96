// The least operator that divides keys by key_order.h: its items have given keys, and it notes its visits. For
// tests.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/key_order.h"

namespace mluop::test {

struct Visit {
  int64_t item, key;
};

struct CountArgs {
  const KeySample& sample;
  const KeyOrder& order;
  const int32_t* keys;  // [item_count]
};
// Items: stretches of the sample.
void count_keys(const CountArgs& args, int64_t begin, int64_t end, Task& task);

// The following run on the instruction set that the library has chosen.

struct RankArgs {
  const KeyOrder& order;
  const KeyedItems& items;
};
// Items: blocks.
RangeKernel<RankArgs> rank_kernel();

struct VisitArgs {
  const KeyOrder& order;
  const KeyedItems& items;
  int32_t tile_items;
  int64_t ahead;
  std::vector<std::vector<Visit>>& visits;  // of each task
};
// Items: ranks of tiles.
RangeKernel<VisitArgs> visit_kernel();

}  // namespace mluop::test
