// Three interpolate backward, device algorithm: arguments and range kernels.
//
// Letters as in args.h. A product of a gradient and a weight is rounded, then added in fp32, in the order of the
// design document: tile of points, slot (the position of an index among the three of its point), point.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "mlu_op.h"
#include "ops/three_interpolate_backward/args.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::three_interpolate_backward::device {

// Tiles of a call. A work item is (b, Mo features), features fastest. Multiples of 64 bytes.
struct Tiling {
  int64_t feature_tiles(const Args& call) const { return ceil_div(call.M, Mo); }
  int64_t work_items(const Args& call) const { return call.B * feature_tiles(call); }

  int64_t Co, No, Mo;
};

// Work items: indices. Reports the first that is outside [0, M).
struct CheckArgs {
  const Args& call;
  FirstBadItem& first_bad_index;
};
RangeKernel<CheckArgs> check_kernel();

// Work items: those of Tiling. Computes and stores grad_features of all channels, Co at a time.
struct InterpolateArgs {
  const Args& call;
  const Tiling& tiling;
};
RangeKernel<InterpolateArgs> interpolate_kernel(mluOpDataType_t dtype);

}  // namespace mluop::three_interpolate_backward::device
