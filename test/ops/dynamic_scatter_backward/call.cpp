#include "ops/dynamic_scatter_backward/call.h"

#include <algorithm>
#include <limits>

namespace mluop::test {
DynamicScatterInputs random_dynamic_scatter(const DynamicScatterSizes& sizes, std::mt19937& random) {
  DynamicScatterInputs inputs{sizes, {}, {}, {}, {}, {}};
  for (int n = 0; n < sizes.points; ++n) {
    const auto any = static_cast<int32_t>(random() % static_cast<uint32_t>(std::max(sizes.voxel_num, 1)));
    const bool none = sizes.voxel_num == 0 || random() % 8 == 0;
    const bool as_before = n > 0 && random() % 3 == 0;
    inputs.point2voxel_map.push_back(as_before ? inputs.point2voxel_map.back() : none ? -1 : any);
  }
  for (int64_t i = 0; i < sizes.feats_count(); ++i) {
    inputs.feats.push_back(static_cast<float>(static_cast<int32_t>(random() % 5)) - 2.5F);
  }
  std::uniform_real_distribution<float> grad(-1.0F, 1.0F);
  for (int64_t i = 0; i < sizes.voxel_feats_count(); ++i) inputs.grad_voxel_feats.push_back(grad(random));
  scatter_forward(inputs);
  return inputs;
}

void scatter_forward(DynamicScatterInputs& inputs) {
  const int64_t channels = inputs.sizes.channels;
  inputs.voxel_feats.assign(static_cast<size_t>(inputs.sizes.voxel_feats_count()),
                            -std::numeric_limits<float>::infinity());
  inputs.voxel_points_count.assign(static_cast<size_t>(inputs.sizes.voxels), 0);
  for (int64_t n = 0; n < inputs.sizes.points; ++n) {
    const int32_t voxel = inputs.point2voxel_map[static_cast<size_t>(n)];
    if (voxel == -1) continue;
    ++inputs.voxel_points_count[static_cast<size_t>(voxel)];
    for (int64_t c = 0; c < channels; ++c) {
      float& highest = inputs.voxel_feats[static_cast<size_t>(voxel * channels + c)];
      highest = std::max(highest, inputs.feats[static_cast<size_t>(n * channels + c)]);
    }
  }
}

std::vector<float> dynamic_scatter_reference(const DynamicScatterInputs& inputs) {
  std::vector<float> output(static_cast<size_t>(inputs.sizes.feats_count()));
  if (inputs.reduce_type != MLUOP_REDUCE_DMAX) {
    const bool is_mean = inputs.reduce_type == MLUOP_REDUCE_DMEAN;
    reference::dynamic_scatter_backward_of_sums(
        inputs.sizes, inputs.grad_voxel_feats.data(), inputs.point2voxel_map.data(),
        is_mean ? inputs.voxel_points_count.data() : nullptr, output.data());
    return output;
  }
  std::vector<int32_t> reduce_from(static_cast<size_t>(inputs.sizes.voxel_feats_count()));
  reference::dynamic_scatter_backward(inputs.sizes, inputs.grad_voxel_feats.data(), inputs.feats.data(),
                                      inputs.voxel_feats.data(), inputs.point2voxel_map.data(), reduce_from.data(),
                                      output.data());
  return output;
}

size_t dynamic_scatter_workspace(mluOpHandle_t handle, int64_t points, int64_t channels,
                                 mluOpReduceMode_t reduce_type) {
  size_t bytes = 0;
  require(mluOpGetDynamicScatterBackwardWorkspaceSize(handle, reduce_type,
                                                      Descriptor(MLUOP_DTYPE_FLOAT, {points, channels}), &bytes));
  return bytes;
}

DynamicScatterCall::DynamicScatterCall(mluOpHandle_t with, const DynamicScatterInputs& inputs, Placement placement)
    : GuardedCall(with),
      reduce_type(inputs.reduce_type),
      grad_buffer(inputs.grad_voxel_feats, placement),
      feats_buffer(inputs.feats, placement),
      voxel_buffer(inputs.voxel_feats, placement),
      map_buffer(inputs.point2voxel_map, placement),
      count_buffer(inputs.voxel_points_count, placement),
      num_buffer(std::vector<int32_t>{inputs.sizes.voxel_num}, placement),
      workspace_buffer(
          dynamic_scatter_workspace(with, inputs.sizes.points, inputs.sizes.channels, inputs.reduce_type),
          placement),
      output_buffer(inputs.feats.size(), placement),
      queried_buffer(1),
      voxel_desc(MLUOP_DTYPE_FLOAT, {inputs.sizes.voxels, inputs.sizes.channels}),
      feats_shape_desc(MLUOP_DTYPE_FLOAT, {inputs.sizes.points, inputs.sizes.channels}),
      map_desc(MLUOP_DTYPE_INT32, {inputs.sizes.points}),
      count_desc(MLUOP_DTYPE_INT32, {inputs.sizes.voxels}),
      num_desc(MLUOP_DTYPE_INT32, {1}),
      grad_voxel_feats_desc(voxel_desc),
      feats_desc(feats_shape_desc),
      voxel_feats_desc(voxel_desc),
      point2voxel_map_desc(map_desc),
      voxel_points_count_desc(count_desc),
      voxel_num_desc(num_desc),
      grad_feats_desc(feats_shape_desc),
      grad_voxel_feats(grad_buffer.data()),
      feats(feats_buffer.data()),
      voxel_feats(voxel_buffer.data()),
      point2voxel_map(map_buffer.data()),
      voxel_points_count(count_buffer.data()),
      voxel_num(num_buffer.data()),
      workspace(workspace_buffer.data()),
      grad_feats(output_buffer.data()),
      workspace_size(workspace_buffer.size()),
      queried_size(queried_buffer.data()) {
  set_buffers({&grad_buffer, &feats_buffer, &voxel_buffer, &map_buffer, &count_buffer, &num_buffer},
              {&output_buffer, &queried_buffer}, {&workspace_buffer});
}

mluOpStatus_t DynamicScatterCall::run() const {
  return mluOpDynamicScatterBackward(handle, reduce_type, grad_voxel_feats_desc, grad_voxel_feats, feats_desc,
                                     feats, voxel_feats_desc, voxel_feats, point2voxel_map_desc, point2voxel_map,
                                     voxel_points_count_desc, voxel_points_count, voxel_num_desc, voxel_num,
                                     workspace, workspace_size, grad_feats_desc, grad_feats);
}

mluOpStatus_t DynamicScatterCall::run_alias() const {
  return mluOpDynamicPointToVoxelBackward(
      handle, reduce_type, grad_voxel_feats_desc, grad_voxel_feats, feats_desc, feats, voxel_feats_desc,
      voxel_feats, point2voxel_map_desc, point2voxel_map, voxel_points_count_desc, voxel_points_count,
      voxel_num_desc, voxel_num, workspace, workspace_size, grad_feats_desc, grad_feats);
}

mluOpStatus_t DynamicScatterCall::query() const {
  return mluOpGetDynamicScatterBackwardWorkspaceSize(handle, reduce_type, feats_desc, queried_size);
}

mluOpStatus_t DynamicScatterCall::query_alias() const {
  return mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(handle, reduce_type, grad_voxel_feats_desc, feats_desc,
                                                          voxel_feats_desc, point2voxel_map_desc,
                                                          voxel_points_count_desc, voxel_num_desc, queried_size);
}

}  // namespace mluop::test
