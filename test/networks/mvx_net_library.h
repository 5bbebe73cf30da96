// The operators of the dynamic voxel feature encoder, computed by the library.
#pragma once

#include <cstdint>
#include <vector>

#include "networks/mvx_net.h"
#include "support/api.h"

namespace mluop::test::mvx_net {

struct Library {
  using Float = float;

  Scatter<float> scatter(mluOpReduceMode_t mode, const Matrix<float>& features,
                         const std::vector<Voxel>& voxels) const {
    const int64_t N = features.rows, C = features.columns;
    const Descriptor feats(MLUOP_DTYPE_FLOAT, {N, C}), coors(MLUOP_DTYPE_INT32, {N, 3});
    const Descriptor ints(MLUOP_DTYPE_INT32, {N}), one(MLUOP_DTYPE_INT32, {1});
    size_t bytes = 0;
    require(mluOpGetDynamicPointToVoxelForwardWorkspaceSize(handle, feats, coors, &bytes));
    Values<char> workspace(bytes);
    // The operator may change coordinates.
    Values<Voxel> of_points(voxels.begin(), voxels.end());
    const auto size = static_cast<size_t>(N);
    Scatter<float> result{{N, C}, Values<Voxel>(size), Values<int32_t>(size), Values<int32_t>(size)};
    int32_t count = 0;
    require(mluOpDynamicPointToVoxelForward(handle, mode, feats, features.data(), coors, of_points.data(),
                                            workspace.data(), bytes, feats, result.features.data(), coors,
                                            result.voxels.data(), ints, result.voxel_of.data(), ints,
                                            result.counts.data(), one, &count));
    result.features.rows = count;
    result.features.values.resize(static_cast<size_t>(count * C));
    result.voxels.resize(static_cast<size_t>(count));
    result.counts.resize(static_cast<size_t>(count));
    return result;
  }

  Matrix<float> scatter_grad(mluOpReduceMode_t mode, const Matrix<float>& features,
                             const Scatter<float>& scattered, const Matrix<float>& grad) const {
    const int64_t N = features.rows, C = features.columns, M = grad.rows;
    const Descriptor feats(MLUOP_DTYPE_FLOAT, {N, C}), voxel_feats(MLUOP_DTYPE_FLOAT, {M, C});
    const Descriptor voxel_of(MLUOP_DTYPE_INT32, {N}), counts(MLUOP_DTYPE_INT32, {M}), one(MLUOP_DTYPE_INT32, {1});
    size_t bytes = 0;
    require(mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(handle, mode, feats, feats, voxel_feats, voxel_of,
                                                             counts, one, &bytes));
    Values<char> workspace(bytes);
    const auto voxel_num = static_cast<int32_t>(M);
    Matrix<float> result(N, C);
    require(mluOpDynamicPointToVoxelBackward(handle, mode, voxel_feats, grad.data(), feats, features.data(),
                                             voxel_feats, scattered.features.data(), voxel_of,
                                             scattered.voxel_of.data(), counts, scattered.counts.data(), one,
                                             &voxel_num, workspace.data(), bytes, feats, result.data()));
    return result;
  }

  mluOpHandle_t handle;
};

}  // namespace mluop::test::mvx_net
