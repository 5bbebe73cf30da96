// Three interpolate backward: a work item as its part of the tensors.
#pragma once

#include <algorithm>
#include <limits>

#include "ops/three_interpolate_backward/native/kernels.h"

namespace mluop::three_interpolate_backward::native {

// T: float or Half.
template <class T>
struct WorkItem {
  WorkItem(const Args& call, const Tiling& tiling, int64_t number) {
    const int64_t channel_tiles = tiling.channel_tiles(call);
    const int64_t feature_tiles = tiling.feature_tiles(call);
    const int64_t first_channel = number % channel_tiles * tiling.channels;
    b = number / channel_tiles / feature_tiles;
    first_feature = number / channel_tiles % feature_tiles * tiling.features;
    features = std::min(tiling.features, call.M - first_feature);
    channels = std::min(tiling.channels, call.C - first_channel);
    grad_output = static_cast<const T*>(call.grad_output) + (b * call.C + first_channel) * call.N;
    indices = call.indices + b * call.N * 3;
    weights = static_cast<const T*>(call.weights) + b * call.N * 3;
    grad_features = static_cast<T*>(call.grad_features) + (b * call.C + first_channel) * call.M + first_feature;
  }

  // Whether an int32_t can be the index of one of the features.
  bool indexable() const { return first_feature <= std::numeric_limits<int32_t>::max(); }

  int64_t b, first_feature, features, channels;
  const T* grad_output;    // [channels, N]
  const int32_t* indices;  // [N, 3]
  const T* weights;        // [N, 3]
  T* grad_features;        // [channels, features], rows M apart
};

}  // namespace mluop::three_interpolate_backward::native
