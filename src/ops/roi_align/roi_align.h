// RoI align: the algorithm and the arguments of a call, forward and backward.
//
// Letters: B images of C channels, H x W pixels; R RoIs of PH x PW bins. The tensors of images and bins may have
// different layouts: see Layout.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "team/operator_call.h"

namespace mluop::roi_align {

// Values of the parameter pool_mode.
enum class PoolMode { kMax = 0, kMean = 1 };

struct Args {
  int64_t image_pixels() const { return H * W; }
  int64_t bins() const { return PH * PW; }
  // Distances between adjacent pixels (or bins) and between their channels, for `count` pixels or bins.
  int64_t inner() const { return channels_last ? C : 1; }
  int64_t channel_stride(int64_t count) const { return channels_last ? 1 : count; }

  int64_t B, C, H, W, R, PH, PW;
  bool channels_last;  // NHWC; false: NCHW
  PoolMode mode;
  bool aligned;
  int sampling_ratio;  // <= 0: one sample per pixel of a bin along an axis, rounded up
  float spatial_scale;
  mluOpDataType_t dtype;
  const void* boxes;  // [R, 5]: image, x1, y1, x2, y2
};

struct ForwardArgs : Args {
  const void* input;          // [B, H, W, C] or [B, C, H, W]
  void* output;               // [R, PH, PW, C] or [R, C, PH, PW]
  void *argmax_x, *argmax_y;  // as output; not written for kMean
};

struct BackwardArgs : Args {
  const void* grads;                // [R, PH, PW, C] or [R, C, PH, PW]
  const void *argmax_x, *argmax_y;  // as grads; not read for kMean
  void* grads_image;                // [B, H, W, C] or [B, C, H, W]
};

namespace native {

// Compute the outputs. Throw before they write one: Failure with BAD_PARAM if the image of a RoI does not exist,
// or if the bytes of all tensors or of the memory exceed int64_t, with ALLOC_FAILED if no tile fits NRAM, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace native
}  // namespace mluop::roi_align
