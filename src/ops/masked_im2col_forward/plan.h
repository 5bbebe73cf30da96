// Masked im2col forward: what is decided once a call, and the launch that carries it out.
#pragma once

#include <cstdint>

#include "ops/masked_im2col_forward/kernels.h"
#include "team/context.h"

namespace mluop::masked_im2col_forward {

struct Plan {
  int task_dim;
  bool packed;            // packed_kernel, else direct_kernel
  int64_t located_masks;  // masks whose places are in NRAM at once (packed only)
  int64_t tile_masks;     // masks whose output rows are in NRAM at once
  bool stream;            // the output is too large to be found in a cache again
};

// The smallest tile fits any NRAM.
Plan make_plan(const Context& context, const Args& args);

// One launch; it writes the output once its scratch memory is reserved. Throws std::bad_alloc.
void run(Context& context, const Plan& plan, const Args& args);

}  // namespace mluop::masked_im2col_forward
