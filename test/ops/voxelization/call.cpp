#include "ops/voxelization/call.h"

namespace mluop::test {

VoxelizationProblem voxelization_problem(int64_t N, int64_t F, int64_t max_points, int64_t max_voxels, int cells) {
  const float size = 2 / static_cast<float>(cells);
  return {N, F, max_points, max_voxels, {size, size, size}, {-1, -1, -1, 1, 1, 1}};
}

VoxelizationInputs random_voxelization(const VoxelizationProblem& problem, std::mt19937& random) {
  VoxelizationInputs inputs{problem, {}};
  for (int64_t i = 0; i < problem.points_count(); ++i) {
    inputs.points.push_back((static_cast<float>(random() >> 8) * 0x1p-23F - 1) * 1.1F);
  }
  return inputs;
}

VoxelizationOutputs voxelization_reference(const VoxelizationInputs& inputs) {
  const VoxelizationProblem& p = inputs.problem;
  const auto count = [](int64_t elements) { return static_cast<size_t>(elements); };
  VoxelizationOutputs outputs{std::vector<float>(count(p.voxels_count())),
                              std::vector<int32_t>(count(p.max_voxels * 3)),
                              std::vector<int32_t>(count(p.max_voxels)), std::vector<int32_t>(1)};
  reference::voxelization(p, inputs.points.data(), outputs.voxels.data(), outputs.coors.data(),
                          outputs.num_points_per_voxel.data(), outputs.voxel_num.data());
  return outputs;
}

VoxelizationCall::VoxelizationCall(mluOpHandle_t with, const Inputs& inputs, Placement placement)
    : GuardedCall(with),
      points_buffer(inputs.points, placement),
      voxel_size_buffer(std::vector<float>(inputs.problem.voxel_size, inputs.problem.voxel_size + 3), placement),
      coors_range_buffer(std::vector<float>(inputs.problem.coors_range, inputs.problem.coors_range + 6),
                         placement),
      voxels_buffer(static_cast<size_t>(inputs.problem.voxels_count()), placement),
      coors_buffer(static_cast<size_t>(inputs.problem.max_voxels * 3), placement),
      num_points_buffer(static_cast<size_t>(inputs.problem.max_voxels), placement),
      voxel_num_buffer(1, placement),
      queried_buffer(1),
      own_points_desc(MLUOP_DTYPE_FLOAT, {inputs.problem.N, inputs.problem.F}),
      own_voxel_size_desc(MLUOP_DTYPE_FLOAT, {3}),
      own_coors_range_desc(MLUOP_DTYPE_FLOAT, {6}),
      own_voxels_desc(MLUOP_DTYPE_FLOAT, {inputs.problem.max_voxels, inputs.problem.max_points, inputs.problem.F}),
      own_coors_desc(MLUOP_DTYPE_INT32, {inputs.problem.max_voxels, 3}),
      own_num_points_desc(MLUOP_DTYPE_INT32, {inputs.problem.max_voxels}),
      own_voxel_num_desc(MLUOP_DTYPE_INT32, {1}),
      points_desc(own_points_desc),
      voxel_size_desc(own_voxel_size_desc),
      coors_range_desc(own_coors_range_desc),
      voxels_desc(own_voxels_desc),
      coors_desc(own_coors_desc),
      num_points_desc(own_num_points_desc),
      voxel_num_desc(own_voxel_num_desc),
      points(points_buffer.data()),
      voxel_size(voxel_size_buffer.data()),
      coors_range(coors_range_buffer.data()),
      max_points(static_cast<int32_t>(inputs.problem.max_points)),
      max_voxels(static_cast<int32_t>(inputs.problem.max_voxels)),
      voxels(voxels_buffer.data()),
      coors(coors_buffer.data()),
      num_points(num_points_buffer.data()),
      voxel_num(voxel_num_buffer.data()),
      queried_size(queried_buffer.data()),
      workspace_buffer(queried_workspace(), placement),
      workspace(workspace_buffer.size() == 0 ? nullptr : workspace_buffer.data()),
      workspace_size(workspace_buffer.size()) {
  set_buffers({&points_buffer, &voxel_size_buffer, &coors_range_buffer},
              {&voxels_buffer, &coors_buffer, &num_points_buffer, &voxel_num_buffer, &queried_buffer},
              {&workspace_buffer});
}

// The result of the query.
size_t VoxelizationCall::queried_workspace() const {
  size_t bytes = 0;
  require(mluOpGetVoxelizationWorkspaceSize(handle, points_desc, voxel_size_desc, coors_range_desc, max_points,
                                            max_voxels, NDim, deterministic, voxels_desc, coors_desc,
                                            num_points_desc, voxel_num_desc, &bytes));
  return bytes;
}

mluOpStatus_t VoxelizationCall::query() const {
  return mluOpGetVoxelizationWorkspaceSize(handle, points_desc, voxel_size_desc, coors_range_desc, max_points,
                                           max_voxels, NDim, deterministic, voxels_desc, coors_desc,
                                           num_points_desc, voxel_num_desc, queried_size);
}

mluOpStatus_t VoxelizationCall::run() const {
  return mluOpVoxelization(handle, points_desc, points, voxel_size_desc, voxel_size, coors_range_desc, coors_range,
                           max_points, max_voxels, NDim, deterministic, workspace, workspace_size, voxels_desc,
                           voxels, coors_desc, coors, num_points_desc, num_points, voxel_num_desc, voxel_num);
}

VoxelizationOutputs VoxelizationCall::outputs() const {
  return {voxels_buffer.values(), coors_buffer.values(), num_points_buffer.values(), voxel_num_buffer.values()};
}

}  // namespace mluop::test
