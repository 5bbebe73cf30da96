// Dynamic scatter backward: the algorithms and the arguments of a call.
//
// Letters as in the design document: N points, M voxels, C channels; V = voxel_num[0], the voxels in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::dynamic_scatter_backward {

// The map value of a point without a voxel.
inline constexpr int32_t kNoVoxel = -1;

// The arguments of the call, checked except for the values of the map.
struct Args {
  int64_t row_bytes() const { return channels * int64_t{sizeof(float)}; }
  const float* grad_voxel_feats_row(int64_t voxel) const { return grad_voxel_feats + voxel * channels; }
  const float* feats_row(int64_t point) const { return feats + point * channels; }
  const float* voxel_feats_row(int64_t voxel) const { return voxel_feats + voxel * channels; }
  float* grad_feats_row(int64_t point) const { return grad_feats + point * channels; }

  mluOpReduceMode_t reduce_type;
  int32_t point_count;                // N
  int32_t voxel_count;                // V
  int64_t channels;                   // C
  const float* grad_voxel_feats;      // [M, C]
  const float* feats;                 // [N, C]
  const float* voxel_feats;           // [M, C]
  const int32_t* point2voxel_map;     // [N]
  const int32_t* voxel_points_count;  // [M]
  float* grad_feats;                  // [N, C]
};

namespace native {

// Bytes of the caller's workspace for `points` points of `channels` channels: at any address, with any number of
// voxels up to `points` and any number of threads. Sum and mean need none.
size_t workspace_bytes(mluOpReduceMode_t reduce_type, int64_t points, int64_t channels);

// Computes the output. Before it writes the output, it throws Failure with ALLOC_FAILED if the smallest tile does
// not fit NRAM and with BAD_PARAM if a value of the map or a count is invalid, and std::bad_alloc.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native

namespace device {

// Bytes of the caller's workspace for `points` points of `channels` channels: at any address, with any number of
// voxels up to `points`.
size_t workspace_bytes(int64_t points, int64_t channels);

// Computes the output. Before writing it, throws Failure with BAD_PARAM if a map value is invalid, and
// std::bad_alloc.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace device
}  // namespace mluop::dynamic_scatter_backward
