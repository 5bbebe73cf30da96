// RoI-aware pooling: the algorithms and the arguments of a call, forward and backward.
//
// Letters: R RoIs, N points, C channels, P numbers a voxel: the count of its points, and their indices. Voxels of
// all RoIs are numbered ((r * X + x) * Y + y) * Z + z.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::roiaware_pool3d {

// Values of the parameter pool_method.
enum class PoolMethod { kMax = 0, kMean = 1 };

struct Sizes {
  int64_t R, N, C, P;
  int64_t X, Y, Z;  // voxels of a RoI along its axes

  int64_t roi_voxels() const { return X * Y * Z; }
  int64_t voxels() const { return R * roi_voxels(); }
};

// The arguments of the call, checked.
struct ForwardArgs : Sizes {
  PoolMethod method;
  mluOpDataType_t dtype;
  const void* rois;            // [R, 7]
  const void* pts;             // [N, 3]
  const void* pts_feature;     // [N, C]
  int32_t* argmax;             // [R, X, Y, Z, C]
  int32_t* pts_idx_of_voxels;  // [R, X, Y, Z, P]
  void* pooled_features;       // [R, X, Y, Z, C]
};

struct BackwardArgs : Sizes {
  PoolMethod method;
  mluOpDataType_t dtype;
  const int32_t* pts_idx_of_voxels;  // [R, X, Y, Z, P]; not read for kMax
  const int32_t* argmax;             // [R, X, Y, Z, C]; not read for kMean
  const void* grad_out;              // [R, X, Y, Z, C]
  void* grad_in;                     // [N, C]
};

}  // namespace mluop::roiaware_pool3d

namespace mluop::roiaware_pool3d::backward::native {

// Computes the output. Throws, before it writes it, Failure with BAD_PARAM if a count or a point of a voxel is out
// of range, and std::bad_alloc.
void run(Call& call, const BackwardArgs& args);

}  // namespace mluop::roiaware_pool3d::backward::native

namespace mluop::roiaware_pool3d::forward::native {

// The bytes of the workspace. Throws Failure (BAD_PARAM) if they exceed int64_t.
size_t workspace_bytes(int64_t R, int64_t N);

// Computes the outputs in the workspace that `arena` has. Throws std::bad_alloc before it writes them.
void run(Call& call, const ForwardArgs& args, Arena arena);

}  // namespace mluop::roiaware_pool3d::forward::native
