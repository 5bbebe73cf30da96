// A call of mluOpVoxelPoolingForward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/voxel_pooling_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

using VoxelPoolingSizes = reference::VoxelPoolingForwardSizes;

struct VoxelPoolingInputs {
  VoxelPoolingSizes sizes;
  std::vector<int32_t> geom_xyz;
  std::vector<float> input_features;
};

struct VoxelPoolingOutputs {
  std::vector<float> output_features;
  std::vector<int32_t> pos_memo;
};

// About three quarters of the points are in range. Features are in [-1, 1).
VoxelPoolingInputs random_voxel_pooling(const VoxelPoolingSizes& sizes, std::mt19937& random);

VoxelPoolingOutputs voxel_pooling_reference(const VoxelPoolingInputs& inputs);

struct VoxelPoolingCall : GuardedCall {
  using Inputs = VoxelPoolingInputs;

  VoxelPoolingCall(mluOpHandle_t handle, const VoxelPoolingInputs& inputs,
                   Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  VoxelPoolingOutputs outputs() const { return {output_buffer.values(), memo_buffer.values()}; }
  static constexpr ApiFunction<VoxelPoolingCall> kOperator = {"mluOpVoxelPoolingForward", &VoxelPoolingCall::run};

  VoxelPoolingSizes sizes;
  GuardedBuffer<int32_t> geom_buffer;
  GuardedBuffer<float> input_buffer;
  GuardedBuffer<float> output_buffer;
  GuardedBuffer<int32_t> memo_buffer;
  Descriptor geom_desc, input_desc, output_desc, memo_desc;

  // The arguments of run(), initially the above.
  mluOpTensorDescriptor_t geom_xyz_desc, input_features_desc, output_features_desc, pos_memo_desc;
  const void* geom_xyz;
  const void* input_features;
  void* output_features;
  void* pos_memo;
};

}  // namespace mluop::test
