// A call of mluOpDynamicPointToVoxelForward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "reference/dynamic_point_to_voxel_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

struct PointToVoxelInputs {
  int64_t points, channels;
  int64_t max_voxels;  // M
  mluOpReduceMode_t reduce_type;
  std::vector<float> feats;
  std::vector<int32_t> coors;
};

inline constexpr mluOpReduceMode_t kReduceTypes[] = {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX};

// Coordinates from 0 to extent - 1; one point in eight has a negative one. Features are fractions; max_voxels is
// the number of points.
PointToVoxelInputs random_point_to_voxel(int64_t points, int64_t channels, int32_t extent,
                                         mluOpReduceMode_t reduce_type, std::mt19937& random);

reference::DynamicPointToVoxelResult point_to_voxel_reference(const PointToVoxelInputs& inputs);

struct PointToVoxelCall : GuardedCall {
  using Inputs = PointToVoxelInputs;

  PointToVoxelCall(mluOpHandle_t handle, const PointToVoxelInputs& inputs,
                   Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  static constexpr ApiFunction<PointToVoxelCall> kOperator = {"mluOpDynamicPointToVoxelForward",
                                                              &PointToVoxelCall::run};
  static constexpr ApiFunction<PointToVoxelCall> kQuery = {"mluOpGetDynamicPointToVoxelForwardWorkspaceSize",
                                                           &PointToVoxelCall::query};

  // Whether the outputs are those of the oracle, and the rows past its voxels are unchanged.
  ::testing::AssertionResult has(const reference::DynamicPointToVoxelResult& expected) const;

  GuardedBuffer<float> feats_buffer;
  GuardedBuffer<int32_t> coors_buffer;  // the call writes it too
  GuardedBuffer<std::byte> workspace_buffer;
  GuardedBuffer<float> voxel_feats_buffer;
  GuardedBuffer<int32_t> voxel_coors_buffer, map_buffer, count_buffer, num_buffer;
  GuardedBuffer<size_t> queried_buffer;
  Descriptor own_feats_desc, own_coors_desc, own_voxel_feats_desc, own_voxel_coors_desc, own_map_desc,
      own_count_desc, own_num_desc;

  // The arguments, initially the above.
  mluOpReduceMode_t reduce_type;
  mluOpTensorDescriptor_t feats_desc, coors_desc, voxel_feats_desc, voxel_coors_desc, point2voxel_map_desc,
      voxel_points_count_desc, voxel_num_desc;
  const void* feats;
  void *coors, *workspace, *voxel_feats, *voxel_coors, *point2voxel_map, *voxel_points_count, *voxel_num;
  size_t workspace_size;
  size_t* queried_size;

 private:
  std::vector<float> unwritten_feats_;
  std::vector<int32_t> unwritten_coors_, unwritten_counts_;
};

// The result of the query.
size_t point_to_voxel_workspace(mluOpHandle_t handle, int64_t points, int64_t channels);

}  // namespace mluop::test
