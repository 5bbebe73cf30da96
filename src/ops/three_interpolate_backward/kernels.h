// Three interpolate backward: the range kernels.
//
// Letters as in the design document: B batches, C channels, N points, M features; No, Mo and Co are the points,
// features and channels that are in NRAM at once.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/launch.h"

namespace mluop::three_interpolate_backward {

// The arguments of the call, checked but for the values of the indices.
struct Args {
  int64_t index_count() const { return B * N * 3; }

  int64_t B, C, N, M;
  mluOpDataType_t dtype;    // of all tensors but the indices
  const void* grad_output;  // [B, C, N]
  const int32_t* indices;   // [B, N, 3]
  const void* weights;      // [B, N, 3]
  void* grad_features;      // [B, C, M]
};

// Items: indices. Notes the first index of the task that is outside [0, M).
struct CheckArgs {
  const int32_t* indices;
  int64_t M;
  int64_t* first_bad;  // [taskDim], position of that index; as it was, if there is none
};
RangeKernel<CheckArgs> check_kernel();

// How the work is cut: into work items (b, chunk of Mo features, block of Co channels), channels fastest.
struct Tiling {
  int64_t blocks(const Args& call) const { return (call.C + kChannels - 1) / kChannels; }
  int64_t chunks(const Args& call) const { return (call.M + features - 1) / features; }
  int64_t items(const Args& call) const { return call.B * chunks(call) * blocks(call); }

  // Co: the channels of a feature are a cache line of floats.
  static constexpr int64_t kChannels = 16;
  // No: indices and weights are prepared so many points at a time.
  static constexpr int64_t kPoints = 64;
  // Sums are transposed and written so many features at a time.
  static constexpr int64_t kFeatures = 128;
  // Mo: a multiple of kChannels, so that whole square tiles are transposed.
  int64_t features;
  bool stream;  // outputs are too large to be found in a cache again
};

// Items: those of Tiling. Reads the points of an item once, transposes them in registers, adds each to its three
// features in NRAM and writes the features transposed back. A feature's sum is that of the serial loop: it starts
// at +0 and adds the rounded products in the order of points and slots, in fp32.
struct AccumulateArgs {
  const Args& call;
  Tiling tiling;
};
RangeKernel<AccumulateArgs> accumulate_kernel(mluOpDataType_t dtype);

}  // namespace mluop::three_interpolate_backward
