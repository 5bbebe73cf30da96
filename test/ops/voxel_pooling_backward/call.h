// A call of mluOpOmpVoxelPoolingBackward in guarded memory. Tests change its arguments and run it. T: uint16_t for
// half, uint32_t for float; elements are bit patterns.
#pragma once

#include <random>
#include <vector>

#include "reference/voxel_pooling_backward.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

using VoxelPoolingBackwardSizes = reference::VoxelPoolingBackwardSizes;

template <class T>
struct VoxelPoolingBackwardInputs {
  VoxelPoolingBackwardSizes sizes;
  std::vector<T> grad_output;
  std::vector<int32_t> pos_memo;
};

// Random bit patterns as elements, NaN among them. One point in four has no cell, the others any, also of another
// batch.
template <class T>
VoxelPoolingBackwardInputs<T> random_voxel_pooling_backward(const VoxelPoolingBackwardSizes& sizes,
                                                            std::mt19937& random);

template <class T>
std::vector<T> voxel_pooling_backward_reference(const VoxelPoolingBackwardInputs<T>& inputs);

template <class T>
struct VoxelPoolingBackwardCall : GuardedCall {
  using Inputs = VoxelPoolingBackwardInputs<T>;
  static constexpr mluOpDataType_t kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  VoxelPoolingBackwardCall(mluOpHandle_t handle, const VoxelPoolingBackwardInputs<T>& inputs,
                           Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  static constexpr ApiFunction<VoxelPoolingBackwardCall> kOperator = {"mluOpOmpVoxelPoolingBackward",
                                                                      &VoxelPoolingBackwardCall::run};

  VoxelPoolingBackwardSizes sizes;
  GuardedBuffer<T> grad_output_buffer;
  GuardedBuffer<int32_t> memo_buffer;
  GuardedBuffer<T> grad_input_buffer;
  Descriptor own_grad_output_desc, own_memo_desc, own_grad_input_desc;

  // The arguments of run(), initially the above.
  mluOpTensorDescriptor_t grad_output_desc, pos_memo_desc, grad_input_desc;
  const void* grad_output;
  const void* pos_memo;
  void* grad_input;
};

}  // namespace mluop::test
