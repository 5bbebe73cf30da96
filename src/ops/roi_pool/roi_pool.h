// RoI pooling: the arguments of its kernels.
//
// Letters: B images of C channels, H x W pixels; R RoIs of PH x PW bins.
#pragma once

#include <cstdint>

#include "primitives/geometry/roi_bins.h"

namespace mluop::roi_pool {

struct Args {
  int64_t pixels() const { return H * W; }
  int64_t bins() const { return PH * PW; }
  // Distance between adjacent pixels or bins, and between the channels of `count` pixels or bins.
  int64_t inner() const { return channels_last ? C : 1; }
  int64_t channel_stride(int64_t count) const { return channels_last ? 1 : count; }

  int64_t B, C, H, W, R, PH, PW;
  bool channels_last;  // NHWC; false: NCHW
  mluOpDataType_t dtype;
  const void* rois;  // [R, 5]: image, x1, y1, x2, y2
};

struct PoolArgs : Args {
  const void* input;  // [B, H, W, C] or [B, C, H, W]
  void* output;       // [R, PH, PW, C] or [R, C, PH, PW]
  int32_t* argmax;    // as output
  RoiBins rois_bins;
  int64_t strips;     // of channels, in NCHW; 1 in NHWC
  int64_t roi_block;  // consecutive RoIs of a work item
  void* copies;       // [taskDim, H, W, kStripChannels] in NCHW: the pixels of a work item, transposed
};

}  // namespace mluop::roi_pool
