// A call of mluOpVoxelPoolingForward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/voxel_pooling_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

using VoxelPoolingSizes = reference::VoxelPoolingForwardSizes;

// T: float or Half.
template <class T>
struct VoxelPoolingInputs {
  VoxelPoolingSizes sizes;
  std::vector<int32_t> geom_xyz;
  std::vector<T> input_features;
};

template <class T>
struct VoxelPoolingOutputs {
  std::vector<T> output_features;
  std::vector<int32_t> pos_memo;
};

// About three quarters of the points are in range. Features are in [-1, 1).
template <class T>
VoxelPoolingInputs<T> random_voxel_pooling(const VoxelPoolingSizes& sizes, std::mt19937& random);

// The result that the native algorithm must return, bit for bit.
template <class T>
VoxelPoolingOutputs<T> voxel_pooling_reference(const VoxelPoolingInputs<T>& inputs);

template <class T>
struct VoxelPoolingCall : GuardedCall {
  using Inputs = VoxelPoolingInputs<T>;

  VoxelPoolingCall(mluOpHandle_t handle, const VoxelPoolingInputs<T>& inputs,
                   Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  VoxelPoolingOutputs<T> outputs() const { return {output_buffer.values(), memo_buffer.values()}; }
  static constexpr ApiFunction<VoxelPoolingCall> kOperator = {"mluOpVoxelPoolingForward", &VoxelPoolingCall::run};

  VoxelPoolingSizes sizes;
  GuardedBuffer<int32_t> geom_buffer;
  GuardedBuffer<T> input_buffer;
  GuardedBuffer<T> output_buffer;
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
