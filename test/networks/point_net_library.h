// The operators of a feature propagation level, computed by the library.
#pragma once

#include <cstdint>

#include "networks/point_net.h"
#include "support/api.h"

namespace mluop::test::point_net {

struct Library {
  using Float = float;

  Neighbors<float> nearest(const Level& level) const {
    const auto& [B, N, M, C, C2] = level.sizes;
    const Descriptor known(MLUOP_DTYPE_FLOAT, {B, M, 3}), unknown(MLUOP_DTYPE_FLOAT, {B, N, 3});
    const Descriptor idx(MLUOP_DTYPE_INT32, {B, N, 3});
    size_t bytes = 0;
    require(mluOpGetThreeNNForwardWorkspaceSize(handle, known, &bytes));
    Values<char> workspace(bytes);
    Neighbors<float> neighbors{Values<int32_t>(static_cast<size_t>(B * N * 3)), {B * N, 3}};
    require(mluOpThreeNNForward(handle, unknown, level.unknown.data(), known, level.known.data(), workspace.data(),
                                bytes, unknown, neighbors.distances2.data(), idx, neighbors.indices.data()));
    return neighbors;
  }

  Matrix<float> interpolate(const Sizes& sizes, const Matrix<float>& features, const Neighbors<float>& neighbors,
                            const Matrix<float>& weights) const {
    const Tensors tensors(sizes);
    Matrix<float> output(sizes.batches * sizes.channels, sizes.unknown);
    require(mluOpThreeInterpolateForward(handle, tensors.known, features.data(), tensors.indices,
                                         neighbors.indices.data(), tensors.weights, weights.data(),
                                         tensors.unknown, output.data()));
    return output;
  }

  Matrix<float> interpolate_grad(const Sizes& sizes, const Matrix<float>& grad, const Neighbors<float>& neighbors,
                                 const Matrix<float>& weights) const {
    const Tensors tensors(sizes);
    Matrix<float> features(sizes.batches * sizes.channels, sizes.known);
    require(mluOpThreeInterpolateBackward(handle, tensors.unknown, grad.data(), tensors.indices,
                                          neighbors.indices.data(), tensors.weights, weights.data(), tensors.known,
                                          features.data()));
    return features;
  }

  // Features of known and unknown points, indices and weights.
  struct Tensors {
    explicit Tensors(const Sizes& sizes)
        : known(MLUOP_DTYPE_FLOAT, {sizes.batches, sizes.channels, sizes.known}),
          unknown(MLUOP_DTYPE_FLOAT, {sizes.batches, sizes.channels, sizes.unknown}),
          indices(MLUOP_DTYPE_INT32, {sizes.batches, sizes.unknown, 3}),
          weights(MLUOP_DTYPE_FLOAT, {sizes.batches, sizes.unknown, 3}) {}

    Descriptor known, unknown, indices, weights;
  };

  mluOpHandle_t handle;
};

}  // namespace mluop::test::point_net
