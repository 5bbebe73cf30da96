// Dynamic point to voxel forward: the algorithm and the arguments of a call.
//
// Letters as in the design document: N points, M rows of the voxel tensors, C channels; V voxels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::dynamic_point_to_voxel_forward {

// Coordinates of a point or voxel.
inline constexpr int kAxes = 3;

// The map value of a point without a voxel; its coordinates are set to this value too.
inline constexpr int32_t kNoVoxel = -1;

// The arguments of the call, checked.
struct Args {
  int64_t row_bytes() const { return channels * int64_t{sizeof(float)}; }
  const float* feats_row(int64_t point) const { return feats + point * channels; }
  float* voxel_row(int64_t voxel) const { return voxel_feats + voxel * channels; }
  int32_t* coor(int64_t point) const { return coors + point * kAxes; }

  mluOpReduceMode_t reduce_type;
  int64_t point_count;          // N
  int64_t max_voxels;           // M
  int64_t channels;             // C
  const float* feats;           // [N, C]
  int32_t* coors;               // [N, 3]
  float* voxel_feats;           // [M, C]
  int32_t* voxel_coors;         // [M, 3]
  int32_t* point2voxel_map;     // [N]
  int32_t* voxel_points_count;  // [M]
  int32_t* voxel_num;           // [1]
};

namespace native {

// Bytes of the caller's workspace for `points` points, at least 1: at any address, with any number of voxels and
// threads.
size_t workspace_bytes(int64_t points);

// Computes the outputs. Throws Failure with BAD_PARAM if there are more voxels than max_voxels, and
// std::bad_alloc, before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::dynamic_point_to_voxel_forward
