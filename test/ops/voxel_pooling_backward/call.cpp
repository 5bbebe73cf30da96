#include "ops/voxel_pooling_backward/call.h"

#include <algorithm>

#include "mlu_op_omp.h"

namespace mluop::test {

template <class T>
VoxelPoolingBackwardInputs<T> random_voxel_pooling_backward(const VoxelPoolingBackwardSizes& sizes,
                                                            std::mt19937& random) {
  VoxelPoolingBackwardInputs<T> inputs{sizes, {}, {}};
  inputs.grad_output.resize(static_cast<size_t>(sizes.output_count()));
  std::generate(inputs.grad_output.begin(), inputs.grad_output.end(), [&] { return static_cast<T>(random()); });
  for (int64_t point = 0; point < sizes.points(); ++point) {
    const bool has_cell = random() % 4 != 0;
    for (const int64_t extent : {sizes.batch_size, sizes.num_voxel_y, sizes.num_voxel_x}) {
      const auto position = static_cast<int32_t>(random() % static_cast<uint64_t>(extent));
      inputs.pos_memo.push_back(has_cell ? position : -1);
    }
  }
  return inputs;
}

template <class T>
std::vector<T> voxel_pooling_backward_reference(const VoxelPoolingBackwardInputs<T>& inputs) {
  std::vector<T> grad_input(static_cast<size_t>(inputs.sizes.input_count()));
  reference::voxel_pooling_backward(inputs.sizes, inputs.grad_output.data(), inputs.pos_memo.data(),
                                    grad_input.data());
  return grad_input;
}

template <class T>
VoxelPoolingBackwardCall<T>::VoxelPoolingBackwardCall(mluOpHandle_t with,
                                                      const VoxelPoolingBackwardInputs<T>& inputs,
                                                      Placement placement)
    : GuardedCall(with),
      sizes(inputs.sizes),
      grad_output_buffer(inputs.grad_output, placement),
      memo_buffer(inputs.pos_memo, placement),
      grad_input_buffer(static_cast<size_t>(sizes.input_count()), placement),
      own_grad_output_desc(kDtype, {sizes.batch_size, sizes.num_voxel_y, sizes.num_voxel_x, sizes.num_channels}),
      own_memo_desc(MLUOP_DTYPE_INT32, {sizes.batch_size, sizes.num_points, 3}),
      own_grad_input_desc(kDtype, {sizes.batch_size, sizes.num_points, sizes.num_channels}),
      grad_output_desc(own_grad_output_desc),
      pos_memo_desc(own_memo_desc),
      grad_input_desc(own_grad_input_desc),
      grad_output(grad_output_buffer.data()),
      pos_memo(memo_buffer.data()),
      grad_input(grad_input_buffer.data()) {
  set_buffers({&grad_output_buffer, &memo_buffer}, {&grad_input_buffer});
}

template <class T>
mluOpStatus_t VoxelPoolingBackwardCall<T>::run() const {
  return mluOpOmpVoxelPoolingBackward(handle, grad_output_desc, grad_output, pos_memo_desc, pos_memo,
                                      grad_input_desc, grad_input);
}

template VoxelPoolingBackwardInputs<uint16_t> random_voxel_pooling_backward(const VoxelPoolingBackwardSizes&,
                                                                            std::mt19937&);
template VoxelPoolingBackwardInputs<uint32_t> random_voxel_pooling_backward(const VoxelPoolingBackwardSizes&,
                                                                            std::mt19937&);
template std::vector<uint16_t> voxel_pooling_backward_reference(const VoxelPoolingBackwardInputs<uint16_t>&);
template std::vector<uint32_t> voxel_pooling_backward_reference(const VoxelPoolingBackwardInputs<uint32_t>&);
template struct VoxelPoolingBackwardCall<uint16_t>;
template struct VoxelPoolingBackwardCall<uint32_t>;

}  // namespace mluop::test
