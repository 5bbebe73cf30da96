// Three interpolate backward: a work item, its part of the tensors.
#pragma once

#include <algorithm>

#include "ops/three_interpolate_backward/kernels.h"

namespace mluop::three_interpolate_backward {

// T: float or Half.
template <class T>
struct Item {
  Item(const Args& call, const Tiling& tiling, int64_t number) {
    const int64_t blocks = tiling.blocks(call);
    const int64_t chunks = tiling.chunks(call);
    const int64_t channel = number % blocks * tiling.channels;
    b = number / blocks / chunks;
    indices = call.indices + b * call.N * 3;
    weights = static_cast<const T*>(call.weights) + b * call.N * 3;
    first_feature = number / blocks % chunks * tiling.features;
    features = std::min(tiling.features, call.M - first_feature);
    channels = std::min(tiling.channels, call.C - channel);
    grad_output = static_cast<const T*>(call.grad_output) + (b * call.C + channel) * call.N;
    grad_features = static_cast<T*>(call.grad_features) + (b * call.C + channel) * call.M + first_feature;
  }

  int64_t b, first_feature, features, channels;
  const T* grad_output;    // [channels, N]
  const int32_t* indices;  // [N, 3]
  const T* weights;        // [N, 3]
  T* grad_features;        // [channels, features], rows M apart
};

}  // namespace mluop::three_interpolate_backward
