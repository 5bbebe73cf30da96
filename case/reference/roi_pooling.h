// RoI-aware and RoI-point pooling by their definitions: serial loops over boxes and points, by the rule of mmcv.
// The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct RoiawarePool3dSizes {
  int64_t R, N, C, P;  // RoIs, points, channels, places of a voxel for its points
  int64_t X, Y, Z;     // voxels of a RoI

  int64_t voxels() const { return R * X * Y * Z; }
};

// T, here and below: float or Half. Geometry and sums are computed by a loop in fp32, whose bits the library must
// return; means of Half are rounded once.
template <class T>
void roiaware_pool3d_forward(bool is_max, const RoiawarePool3dSizes& sizes, const T* rois, const T* pts,
                             const T* features, int32_t* argmax, int32_t* pts_idx_of_voxels, T* pooled);

// Output: double for sums in double; T for sums in fp32, rounded to half once at the end, whose bits the library
// must return.
template <class T, class Output>
void roiaware_pool3d_backward(bool is_max, const RoiawarePool3dSizes& sizes, const int32_t* pts_idx_of_voxels,
                              const int32_t* argmax, const T* grad_out, Output* grad_in);

struct RoipointPool3dSizes {
  int64_t B, N, M, C, S;  // batches, points, boxes, channels, samples of a box
};

template <class T>
void roipoint_pool3d(const RoipointPool3dSizes& sizes, const T* points, const T* features, const T* boxes,
                     T* pooled, int32_t* is_empty);

}  // namespace mluop::reference
