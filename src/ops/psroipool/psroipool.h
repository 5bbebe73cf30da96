// Position-sensitive RoI pooling: the arguments of its kernels.
//
// Letters: B images of C channels, H x W pixels; R RoIs of P x P bins with K = C / P^2 channels each. Group g = i
// P + j has the channels k P^2 + g, which bin (i, j) pools.
#pragma once

#include <cstdint>

#include "primitives/geometry/roi_bins.h"

namespace mluop::psroipool {

struct Args {
  int64_t pixels() const { return H * W; }
  int64_t groups() const { return P * P; }

  int64_t B, C, H, W, R, P, K;
  mluOpDataType_t dtype;
  const void* rois;  // [R, 5]: image, x1, y1, x2, y2
};

struct PoolArgs : Args {
  const void* input;         // [B, H, W, C]
  void* output;              // [R, P, P, K]
  int32_t* mapping_channel;  // [R, P, P, K]
  RoiBins bins;
  float* groups_of_images;  // [B, P^2, H, W, K]: the input, so that the channels of a group are consecutive
};

struct AddArgs : Args {
  const void* top_grad;            // [R, P, P, K]
  const int32_t* mapping_channel;  // [R, P, P, K]; null: as the forward operator writes it
  void* bottom_grad;               // [B, H, W, C]
  RoiBins bins;
  float* sums;  // [taskDim, W, C]
};

}  // namespace mluop::psroipool
