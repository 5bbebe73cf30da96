// A call of mluOpDynamicScatterBackward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/dynamic_scatter_backward.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

using DynamicScatterSizes = reference::DynamicScatterBackwardSizes;

struct DynamicScatterInputs {
  DynamicScatterSizes sizes;
  std::vector<float> grad_voxel_feats, feats, voxel_feats;
  std::vector<int32_t> point2voxel_map, voxel_points_count;
  mluOpReduceMode_t reduce_type = MLUOP_REDUCEMODE_MAX;
};

// One point in eight has no voxel. One in three of the others has the voxel of its predecessor and the rest
// random voxels in [0, voxel_num). Features take five values, so that points tie. voxel_feats are the maxima.
DynamicScatterInputs random_dynamic_scatter(const DynamicScatterSizes& sizes, std::mt19937& random);

// Sets voxel_feats and voxel_points_count to the result of the forward operator for feats and the map.
void scatter_forward(DynamicScatterInputs& inputs);

std::vector<float> dynamic_scatter_reference(const DynamicScatterInputs& inputs);

struct DynamicScatterCall : GuardedCall {
  using Inputs = DynamicScatterInputs;

  DynamicScatterCall(mluOpHandle_t handle, const DynamicScatterInputs& inputs,
                     Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  // The same functions under their later names.
  mluOpStatus_t run_alias() const;
  mluOpStatus_t query_alias() const;
  static constexpr ApiFunction<DynamicScatterCall> kOperator = {"mluOpDynamicScatterBackward",
                                                                &DynamicScatterCall::run};
  static constexpr ApiFunction<DynamicScatterCall> kQuery = {"mluOpGetDynamicScatterBackwardWorkspaceSize",
                                                             &DynamicScatterCall::query};
  static constexpr ApiFunction<DynamicScatterCall> kAlias = {"mluOpDynamicPointToVoxelBackward",
                                                             &DynamicScatterCall::run_alias};
  static constexpr ApiFunction<DynamicScatterCall> kAliasQuery = {
      "mluOpGetDynamicPointToVoxelBackwardWorkspaceSize", &DynamicScatterCall::query_alias};
  std::vector<float> output() const { return output_buffer.values(); }

  mluOpReduceMode_t reduce_type;
  GuardedBuffer<float> grad_buffer, feats_buffer, voxel_buffer;
  GuardedBuffer<int32_t> map_buffer, count_buffer, num_buffer;
  GuardedBuffer<std::byte> workspace_buffer;
  GuardedBuffer<float> output_buffer;
  GuardedBuffer<size_t> queried_buffer;
  Descriptor voxel_desc, feats_shape_desc, map_desc, count_desc, num_desc;

  // The arguments, initially the above.
  mluOpTensorDescriptor_t grad_voxel_feats_desc, feats_desc, voxel_feats_desc, point2voxel_map_desc,
      voxel_points_count_desc, voxel_num_desc, grad_feats_desc;
  const void *grad_voxel_feats, *feats, *voxel_feats, *point2voxel_map, *voxel_points_count;
  void *voxel_num, *workspace, *grad_feats;
  size_t workspace_size;
  size_t* queried_size;
};

// The result of mluOpGetDynamicScatterBackwardWorkspaceSize for feats [points, channels].
size_t dynamic_scatter_workspace(mluOpHandle_t handle, int64_t points, int64_t channels,
                                 mluOpReduceMode_t reduce_type = MLUOP_REDUCEMODE_MAX);

}  // namespace mluop::test
