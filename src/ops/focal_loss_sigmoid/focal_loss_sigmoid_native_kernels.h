// Sigmoid focal loss, native algorithm: arguments, tile in NRAM and range kernels.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid.h"
#include "team/launch.h"

namespace mluop::focal_loss_sigmoid::native {

// Elements of a tile, whose buffers stay in L1.
inline constexpr int64_t kTileElements = 1024;

struct ComputeArgs : Args {
  int64_t tile_count() const { return ceil_div(count(), kTileElements); }

  bool stream;  // the output bypasses the caches
};

// Work items: tiles of kTileElements consecutive elements of the output.
RangeKernel<ComputeArgs> loss_kernel(mluOpDataType_t dtype);
RangeKernel<ComputeArgs> derivative_kernel(mluOpDataType_t dtype);

// T: an element type.
template <class T>
struct ComputeTile {
  static constexpr int64_t kMaxLanes = 16;

  explicit ComputeTile(Arena& nram)
      : is_target(nram.take<int32_t>("targets", {kTileElements + 1})),
        weights(nram.take<float>("weights", {kTileElements})),
        probabilities(nram.take<float>("probabilities", {kTileElements})),
        results(nram.take<T>("results", {kTileElements})),
        edge(nram.take<T>("edge", {kMaxLanes})) {}

  int32_t* is_target;    // [kTileElements + 1]: -1 if the element's class is the target, otherwise 0
  float* weights;        // [kTileElements]: weights of the rows
  float* probabilities;  // [kTileElements]: sigmoids of the input
  T* results;            // [kTileElements]
  T* edge;               // the last elements, which do not fill a vector
};

}  // namespace mluop::focal_loss_sigmoid::native
