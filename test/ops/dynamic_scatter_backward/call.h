// A call of mluOpDynamicScatterBackward in guarded memory, for tests to run, vary and break.
#pragma once

#include <random>
#include <vector>

#include "reference/dynamic_scatter_backward.h"
#include "support/api.h"
#include "support/guarded_buffer.h"

namespace mluop::test {

using DynamicScatterSizes = reference::DynamicScatterBackwardSizes;

struct DynamicScatterInputs {
  DynamicScatterSizes sizes;
  std::vector<float> grad_voxel_feats, feats, voxel_feats;
  std::vector<int32_t> point2voxel_map, voxel_points_count;
};

// One point in eight without voxel, the others anywhere in [0, voxel_num), a third of them with their predecessor;
// features of few values, so that points tie; voxel_feats the maxima.
DynamicScatterInputs random_dynamic_scatter(const DynamicScatterSizes& sizes, std::mt19937& random);

// Sets voxel_feats and voxel_points_count to what the forward operator returns for feats and the map.
void scatter_forward(DynamicScatterInputs& inputs);

std::vector<float> dynamic_scatter_reference(const DynamicScatterInputs& inputs);

// Every argument of the call, open to change before run().
struct DynamicScatterCall {
  DynamicScatterCall(mluOpHandle_t handle, const DynamicScatterInputs& inputs,
                     Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The same by its other name.
  mluOpStatus_t run_alias() const;
  std::vector<float> output() const { return output_buffer.values(); }
  // Whether all guard zones and inputs are as they were.
  bool intact() const;

  mluOpHandle_t handle;
  mluOpReduceMode_t reduce_type = MLUOP_REDUCEMODE_MAX;
  GuardedBuffer<float> grad_buffer, feats_buffer, voxel_buffer;
  GuardedBuffer<int32_t> map_buffer, count_buffer, num_buffer;
  GuardedBuffer<std::byte> workspace_buffer;
  GuardedBuffer<float> output_buffer;
  Descriptor voxel_desc, feats_shape_desc, map_desc, count_desc, num_desc;

  // What run() passes: the above, until a test replaces one.
  mluOpTensorDescriptor_t grad_voxel_feats_desc, feats_desc, voxel_feats_desc, point2voxel_map_desc,
      voxel_points_count_desc, voxel_num_desc, grad_feats_desc;
  const void *grad_voxel_feats, *feats, *voxel_feats, *point2voxel_map, *voxel_points_count;
  void *voxel_num, *workspace, *grad_feats;
  size_t workspace_size;

 private:
  DynamicScatterInputs inputs_;
};

// What mluOpGetDynamicScatterBackwardWorkspaceSize returns for feats [points, channels].
size_t dynamic_scatter_workspace(mluOpHandle_t handle, int64_t points, int64_t channels);

}  // namespace mluop::test
