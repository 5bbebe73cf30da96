// The least operator that groups: its items are keys, which it appends tile by tile. For tests of the grouping.
#pragma once

#include "primitives/group.h"

namespace mluop::test {

struct AppendArgs {
  const Group& group;
  const int32_t* keys;  // [item_count]
  int32_t tile_items;
};

// Items: the grouped items. Runs on the instruction set that the library has chosen.
RangeKernel<AppendArgs> append_kernel();

}  // namespace mluop::test
