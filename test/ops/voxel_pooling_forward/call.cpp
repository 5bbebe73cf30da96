#include "ops/voxel_pooling_forward/call.h"

#include "support/element.h"

namespace mluop::test {

template <class T>
VoxelPoolingInputs<T> random_voxel_pooling(const VoxelPoolingSizes& sizes, std::mt19937& random) {
  VoxelPoolingInputs<T> inputs{sizes, {}, {}};
  const auto coordinate = [&](int count) {
    // One in 12 is adjacent to the range, one in 100 any int32.
    if (random() % 100 == 0) return static_cast<int32_t>(random());
    const auto place = static_cast<int32_t>(random() % 24);
    if (place == 0) return -1;
    if (place == 1) return count;
    return static_cast<int32_t>(random() % static_cast<uint32_t>(count));
  };
  for (int64_t point = 0; point < sizes.points(); ++point) {
    inputs.geom_xyz.push_back(coordinate(sizes.num_voxel_x));
    inputs.geom_xyz.push_back(coordinate(sizes.num_voxel_y));
    inputs.geom_xyz.push_back(coordinate(sizes.num_voxel_z));
  }
  std::uniform_real_distribution<float> feature(-1.0F, 1.0F);
  for (int64_t i = 0; i < sizes.input_count(); ++i)
    inputs.input_features.push_back(rounded_to<T>(feature(random)));
  return inputs;
}

template <class T>
VoxelPoolingOutputs<T> voxel_pooling_reference(const VoxelPoolingInputs<T>& inputs) {
  VoxelPoolingOutputs<T> outputs;
  outputs.output_features.resize(static_cast<size_t>(inputs.sizes.output_count()));
  outputs.pos_memo.resize(static_cast<size_t>(inputs.sizes.geom_count()));
  reference::voxel_pooling_forward(inputs.sizes, inputs.geom_xyz.data(), inputs.input_features.data(),
                                   outputs.output_features.data(), outputs.pos_memo.data());
  return outputs;
}

template <class T>
VoxelPoolingCall<T>::VoxelPoolingCall(mluOpHandle_t with, const VoxelPoolingInputs<T>& inputs, Placement placement)
    : GuardedCall(with),
      sizes(inputs.sizes),
      geom_buffer(inputs.geom_xyz, placement),
      input_buffer(inputs.input_features, placement),
      output_buffer(static_cast<size_t>(sizes.output_count()), placement),
      memo_buffer(static_cast<size_t>(sizes.geom_count()), placement),
      geom_desc(MLUOP_DTYPE_INT32, {sizes.batch_size, sizes.num_points, 3}),
      input_desc(kDtype<T>, {sizes.batch_size, sizes.num_points, sizes.num_channels}),
      output_desc(kDtype<T>, {sizes.batch_size, sizes.num_voxel_y, sizes.num_voxel_x, sizes.num_channels}),
      memo_desc(MLUOP_DTYPE_INT32, {sizes.batch_size, sizes.num_points, 3}),
      geom_xyz_desc(geom_desc),
      input_features_desc(input_desc),
      output_features_desc(output_desc),
      pos_memo_desc(memo_desc),
      geom_xyz(geom_buffer.data()),
      input_features(input_buffer.data()),
      output_features(output_buffer.data()),
      pos_memo(memo_buffer.data()) {
  set_buffers({&geom_buffer, &input_buffer}, {&output_buffer, &memo_buffer});
}

template <class T>
mluOpStatus_t VoxelPoolingCall<T>::run() const {
  return mluOpVoxelPoolingForward(handle, sizes.batch_size, sizes.num_points, sizes.num_channels,
                                  sizes.num_voxel_x, sizes.num_voxel_y, sizes.num_voxel_z, geom_xyz_desc, geom_xyz,
                                  input_features_desc, input_features, output_features_desc, output_features,
                                  pos_memo_desc, pos_memo);
}

template VoxelPoolingInputs<float> random_voxel_pooling(const VoxelPoolingSizes&, std::mt19937&);
template VoxelPoolingInputs<Half> random_voxel_pooling(const VoxelPoolingSizes&, std::mt19937&);
template VoxelPoolingOutputs<float> voxel_pooling_reference(const VoxelPoolingInputs<float>&);
template VoxelPoolingOutputs<Half> voxel_pooling_reference(const VoxelPoolingInputs<Half>&);
template struct VoxelPoolingCall<float>;
template struct VoxelPoolingCall<Half>;

}  // namespace mluop::test
