#include "ops/dynamic_point_to_voxel_forward/call.h"

#include <algorithm>

#include "support/compare.h"

namespace mluop::test {

PointToVoxelInputs random_point_to_voxel(int64_t points, int64_t channels, int32_t extent,
                                         mluOpReduceMode_t reduce_type, std::mt19937& random) {
  PointToVoxelInputs inputs{points, channels, points, reduce_type, {}, {}};
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  for (int64_t i = 0; i < points * channels; ++i) inputs.feats.push_back(value(random));
  for (int64_t i = 0; i < points * 3; ++i) {
    inputs.coors.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(extent)));
  }
  for (int64_t n = 0; n < points; ++n) {
    if (random() % 8 == 0)
      inputs.coors[static_cast<size_t>(3 * n + random() % 3)] = -1 - static_cast<int32_t>(random() >> 1);
  }
  return inputs;
}

reference::DynamicPointToVoxelResult point_to_voxel_reference(const PointToVoxelInputs& inputs) {
  const auto reduction = inputs.reduce_type == MLUOP_REDUCE_DMAX    ? reference::Reduction::kMax
                         : inputs.reduce_type == MLUOP_REDUCE_DMEAN ? reference::Reduction::kMean
                                                                    : reference::Reduction::kSum;
  return reference::dynamic_point_to_voxel_forward(reduction, inputs.points, inputs.channels, inputs.feats.data(),
                                                   inputs.coors.data());
}

size_t point_to_voxel_workspace(mluOpHandle_t handle, int64_t points, int64_t channels) {
  size_t bytes = 0;
  require(mluOpGetDynamicPointToVoxelForwardWorkspaceSize(handle,
                                                          Descriptor(MLUOP_DTYPE_FLOAT, {points, channels}),
                                                          Descriptor(MLUOP_DTYPE_INT32, {points, 3}), &bytes));
  return bytes;
}

PointToVoxelCall::PointToVoxelCall(mluOpHandle_t with, const PointToVoxelInputs& inputs, Placement placement)
    : GuardedCall(with),
      feats_buffer(inputs.feats, placement),
      coors_buffer(inputs.coors, placement),
      workspace_buffer(point_to_voxel_workspace(with, inputs.points, inputs.channels), placement),
      voxel_feats_buffer(static_cast<size_t>(inputs.max_voxels * inputs.channels), placement),
      voxel_coors_buffer(static_cast<size_t>(inputs.max_voxels * 3), placement),
      map_buffer(static_cast<size_t>(inputs.points), placement),
      count_buffer(static_cast<size_t>(inputs.max_voxels), placement),
      num_buffer(1, placement),
      queried_buffer(1),
      own_feats_desc(MLUOP_DTYPE_FLOAT, {inputs.points, inputs.channels}),
      own_coors_desc(MLUOP_DTYPE_INT32, {inputs.points, 3}),
      own_voxel_feats_desc(MLUOP_DTYPE_FLOAT, {inputs.max_voxels, inputs.channels}),
      own_voxel_coors_desc(MLUOP_DTYPE_INT32, {inputs.max_voxels, 3}),
      own_map_desc(MLUOP_DTYPE_INT32, {inputs.points}),
      own_count_desc(MLUOP_DTYPE_INT32, {inputs.max_voxels}),
      own_num_desc(MLUOP_DTYPE_INT32, {1}),
      reduce_type(inputs.reduce_type),
      feats_desc(own_feats_desc),
      coors_desc(own_coors_desc),
      voxel_feats_desc(own_voxel_feats_desc),
      voxel_coors_desc(own_voxel_coors_desc),
      point2voxel_map_desc(own_map_desc),
      voxel_points_count_desc(own_count_desc),
      voxel_num_desc(own_num_desc),
      feats(feats_buffer.data()),
      coors(coors_buffer.data()),
      workspace(workspace_buffer.data()),
      voxel_feats(voxel_feats_buffer.data()),
      voxel_coors(voxel_coors_buffer.data()),
      point2voxel_map(map_buffer.data()),
      voxel_points_count(count_buffer.data()),
      voxel_num(num_buffer.data()),
      workspace_size(workspace_buffer.size()),
      queried_size(queried_buffer.data()),
      unwritten_feats_(voxel_feats_buffer.values()),
      unwritten_coors_(voxel_coors_buffer.values()),
      unwritten_counts_(count_buffer.values()) {
  set_buffers({&feats_buffer},
              {&coors_buffer, &voxel_feats_buffer, &voxel_coors_buffer, &map_buffer, &count_buffer, &num_buffer,
               &queried_buffer},
              {&workspace_buffer});
}

mluOpStatus_t PointToVoxelCall::run() const {
  return mluOpDynamicPointToVoxelForward(handle, reduce_type, feats_desc, feats, coors_desc, coors, workspace,
                                         workspace_size, voxel_feats_desc, voxel_feats, voxel_coors_desc,
                                         voxel_coors, point2voxel_map_desc, point2voxel_map,
                                         voxel_points_count_desc, voxel_points_count, voxel_num_desc, voxel_num);
}

mluOpStatus_t PointToVoxelCall::query() const {
  return mluOpGetDynamicPointToVoxelForwardWorkspaceSize(handle, feats_desc, coors_desc, queried_size);
}

::testing::AssertionResult PointToVoxelCall::has(const reference::DynamicPointToVoxelResult& expected) const {
  // The rows that are written, and those that are not.
  const auto rows = [](auto written, const auto& unwritten) {
    written.insert(written.end(), unwritten.begin() + static_cast<ptrdiff_t>(written.size()), unwritten.end());
    return written;
  };
  const auto failure = [](const char* output) { return ::testing::AssertionFailure() << output << " differs: "; };
  if (num_buffer[0] != expected.voxel_num) return failure("voxel_num") << num_buffer[0];
  if (coors_buffer.values() != expected.coors) return failure("coors");
  if (map_buffer.values() != expected.point2voxel_map) return failure("point2voxel_map");
  if (count_buffer.values() != rows(expected.voxel_points_count, unwritten_counts_)) return failure("counts");
  if (voxel_coors_buffer.values() != rows(expected.voxel_coors, unwritten_coors_)) return failure("voxel_coors");
  const auto same = same_bits(voxel_feats_buffer.values(), rows(expected.voxel_feats, unwritten_feats_));
  return same ? same : failure("voxel_feats") << same.message();
}

}  // namespace mluop::test
