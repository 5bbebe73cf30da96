// A call of mluOpVoxelization in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/voxelization.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

using VoxelizationProblem = reference::VoxelizationProblem;

struct VoxelizationInputs {
  VoxelizationProblem problem;
  std::vector<float> points;  // [N, F]
};

struct VoxelizationOutputs {
  std::vector<float> voxels;
  std::vector<int32_t> coors, num_points_per_voxel, voxel_num;
};

// A grid of `cells` cells along each axis of [-1, 1).
VoxelizationProblem voxelization_problem(int64_t N, int64_t F, int64_t max_points, int64_t max_voxels, int cells);

// Coordinates are in [-1.1, 1.1), so that some points are out of range.
VoxelizationInputs random_voxelization(const VoxelizationProblem& problem, std::mt19937& random);

// The result that the operator must return, bit for bit.
VoxelizationOutputs voxelization_reference(const VoxelizationInputs& inputs);

struct VoxelizationCall : GuardedCall {
  using Inputs = VoxelizationInputs;

  VoxelizationCall(mluOpHandle_t handle, const Inputs& inputs, Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  VoxelizationOutputs outputs() const;
  static constexpr ApiFunction<VoxelizationCall> kOperator = {"mluOpVoxelization", &VoxelizationCall::run};
  static constexpr ApiFunction<VoxelizationCall> kQuery = {"mluOpGetVoxelizationWorkspaceSize",
                                                           &VoxelizationCall::query};

  GuardedBuffer<float> points_buffer, voxel_size_buffer, coors_range_buffer, voxels_buffer;
  GuardedBuffer<int32_t> coors_buffer, num_points_buffer, voxel_num_buffer;
  GuardedBuffer<size_t> queried_buffer;
  Descriptor own_points_desc, own_voxel_size_desc, own_coors_range_desc, own_voxels_desc, own_coors_desc,
      own_num_points_desc, own_voxel_num_desc;

  // The arguments of run() and query(), initially the above.
  mluOpTensorDescriptor_t points_desc, voxel_size_desc, coors_range_desc, voxels_desc, coors_desc, num_points_desc,
      voxel_num_desc;
  const void* points;
  const void* voxel_size;
  const void* coors_range;
  int32_t max_points, max_voxels, NDim = 3;
  bool deterministic = true;
  void* voxels;
  void* coors;
  void* num_points;
  void* voxel_num;
  size_t* queried_size;

 private:
  size_t queried_workspace() const;

 public:
  GuardedBuffer<std::byte> workspace_buffer;  // of the size that the query returns
  void* workspace;
  size_t workspace_size;
};

}  // namespace mluop::test
