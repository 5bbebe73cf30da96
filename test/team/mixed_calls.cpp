#include "team/mixed_calls.h"

#include <cstring>

#include "ops/ball_query/call.h"
#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "ops/dynamic_scatter_backward/call.h"
#include "ops/get_indice_pairs/call.h"
#include "ops/indice_convolution_backward_data/call.h"
#include "ops/indice_convolution_backward_filter/call.h"
#include "ops/indice_convolution_forward/call.h"
#include "ops/masked_col2im_forward/call.h"
#include "ops/masked_im2col_forward/call.h"
#include "ops/three_interpolate_backward/call.h"
#include "ops/three_interpolate_forward/call.h"
#include "ops/three_nn_forward/call.h"
#include "ops/voxel_pooling_backward/call.h"
#include "ops/voxel_pooling_forward/call.h"
#include "ops/voxelization/call.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

using Bytes = std::vector<std::byte>;

// The outputs of a call; contents() also has the result of the workspace query, which depends on the algorithm.
Bytes bytes_of(const GuardedMemory& memory) { return {memory.bytes(), memory.bytes() + memory.byte_count()}; }

template <class T>
Bytes outputs_of(const VoxelPoolingCall<T>& call) {
  Bytes bytes = bytes_of(call.output_buffer);
  const Bytes memo = bytes_of(call.memo_buffer);
  bytes.insert(bytes.end(), memo.begin(), memo.end());
  return bytes;
}
template <class T>
Bytes outputs_of(const VoxelPoolingBackwardCall<T>& call) {
  return bytes_of(call.grad_input_buffer);
}
template <class T>
Bytes outputs_of(const ThreeInterpolateCall<T>& call) {
  return bytes_of(call.grad_features_buffer);
}
template <class T>
Bytes outputs_of(const ThreeInterpolateForwardCall<T>& call) {
  return bytes_of(call.output_buffer);
}
template <class T>
Bytes outputs_of(const ThreeNNCall<T>& call) {
  Bytes bytes = bytes_of(call.dist2_buffer);
  const Bytes idx = bytes_of(call.idx_buffer);
  bytes.insert(bytes.end(), idx.begin(), idx.end());
  return bytes;
}
template <class T>
Bytes outputs_of(const MaskedIm2colCall<T>& call) {
  return bytes_of(call.data_col_buffer);
}
template <class T>
Bytes outputs_of(const MaskedCol2imCall<T>& call) {
  return bytes_of(call.im_buffer);
}
template <class T>
Bytes outputs_of(const BallQueryCall<T>& call) {
  return bytes_of(call.idx_buffer);
}
Bytes outputs_of(const VoxelizationCall& call) {
  Bytes bytes = bytes_of(call.voxels_buffer);
  for (const Bytes& output :
       {bytes_of(call.coors_buffer), bytes_of(call.num_points_buffer), bytes_of(call.voxel_num_buffer)}) {
    bytes.insert(bytes.end(), output.begin(), output.end());
  }
  return bytes;
}
Bytes outputs_of(const DynamicScatterCall& call) { return bytes_of(call.output_buffer); }
template <class T>
Bytes outputs_of(const IndiceConvolutionCall<T>& call) {
  return bytes_of(call.features_out_buffer);
}
template <class T>
Bytes outputs_of(const IndiceConvolutionBackwardDataCall<T>& call) {
  return bytes_of(call.input_grad_buffer);
}
template <class T>
Bytes outputs_of(const IndiceConvolutionBackwardFilterCall<T>& call) {
  return bytes_of(call.filters_grad_buffer);
}

Bytes outputs_of(const PointToVoxelCall& call) {
  Bytes bytes = bytes_of(call.voxel_feats_buffer);
  for (const Bytes& output : {bytes_of(call.voxel_coors_buffer), bytes_of(call.map_buffer),
                              bytes_of(call.count_buffer), bytes_of(call.num_buffer)}) {
    bytes.insert(bytes.end(), output.begin(), output.end());
  }
  return bytes;
}

Bytes outputs_of(const GetIndicePairsCall& call) {
  Bytes bytes = bytes_of(call.pairs_buffer);
  for (const Bytes& output : {bytes_of(call.out_buffer), bytes_of(call.num_buffer)}) {
    bytes.insert(bytes.end(), output.begin(), output.end());
  }
  return bytes;
}

template <class T>
ThreeInterpolateInputs<T> three_interpolate_of_integers(const ThreeInterpolateSizes& sizes, std::mt19937& random) {
  auto inputs = random_three_interpolate<T>(sizes, random);
  // Half represents the integers up to 2048: a sum has at most 3 N products of magnitude 1.
  inputs.grad_output = random_integers<T>(inputs.grad_output.size(), random, 1);
  inputs.weights = random_integers<T>(inputs.weights.size(), random, 1);
  return inputs;
}

// Sums without a negative zero, which depends on the order of additions.
template <class T>
IndiceConvolutionInputs<T> convolution_of_integers(const IndiceConvolutionSizes& sizes, FilterLayout layout,
                                                   std::mt19937& random) {
  auto inputs = random_indice_convolution<T>(sizes, layout, random);
  for (T& feature : inputs.features) feature = rounded_to<T>(static_cast<double>(random() % 2));
  for (T& weight : inputs.filters) weight = rounded_to<T>(static_cast<double>(random() % 2));
  return inputs;
}

}  // namespace

template <class Call>
void MixedCalls::add(const typename Call::Inputs& inputs, bool native_only) {
  Bytes expected;
  {
    const ScopedThreads one(1);
    const Handle handle;
    const Call call(handle, inputs);
    require(call.run());
    expected = outputs_of(call);
  }
  const auto equals_serial = [inputs, expected](mluOpHandle_t handle) {
    const Call call(handle, inputs);
    return call.run() == MLUOP_STATUS_SUCCESS && outputs_of(call) == expected && call.intact();
  };
  calls_.push_back({equals_serial, native_only});
}

MixedCalls::MixedCalls(int scale) {
  auto random = seeded_random();
  auto voxels = random_voxel_pooling<float>({2, 100 * scale, 20, 7, 5, 1}, random);
  voxels.input_features = random_integers<float>(voxels.input_features.size(), random, 8);
  add<VoxelPoolingCall<float>>(voxels);
  VoxelPoolingInputs<Half> half_voxels{voxels.sizes, voxels.geom_xyz, {}};
  for (const float feature : voxels.input_features) half_voxels.input_features.push_back(to_f16(feature));
  add<VoxelPoolingCall<Half>>(half_voxels);
  add<VoxelPoolingBackwardCall<uint16_t>>(
      random_voxel_pooling_backward<uint16_t>({2, 100 * scale, 20, 7, 5}, random), true);
  add<VoxelPoolingBackwardCall<uint32_t>>(
      random_voxel_pooling_backward<uint32_t>({1, 200 * scale, 16, 9, 5}, random), true);
  add<ThreeInterpolateCall<float>>(three_interpolate_of_integers<float>({2, 12, 60 * scale, 30}, random));
  add<ThreeInterpolateCall<Half>>(three_interpolate_of_integers<Half>({2, 64, 60 * scale, 30}, random));
  add<ThreeInterpolateForwardCall<float>>(random_three_interpolate_forward<float>({2, 12, 30, 60 * scale}, random),
                                          true);
  add<BallQueryCall<float>>(random_ball_query<float>({2, 20 * scale, 200, 20, 0, 0.5F}, random), true);
  add<BallQueryCall<Half>>(random_ball_query<Half>({1, 20 * scale, 300, 8, 0.1F, 0.6F}, random), true);
  add<VoxelizationCall>(random_voxelization(voxelization_problem(150 * scale, 4, 3, 60, 6), random), true);
  add<ThreeNNCall<float>>(random_three_nn<float>({2, 20 * scale, 200}, random), true);
  add<ThreeNNCall<Half>>(random_three_nn<Half>({1, 10 * scale, 1100}, random), true);
  add<MaskedIm2colCall<uint16_t>>(random_masked_im2col<uint16_t>({16, 9, 11, 30 * scale, 3, 3, 1, 1}, random));
  add<MaskedIm2colCall<uint32_t>>(random_masked_im2col<uint32_t>({5, 9, 11, 30 * scale, 3, 2, 1, 0}, random));
  add<MaskedCol2imCall<uint16_t>>(random_masked_col2im<uint16_t>({16, 9, 11 * scale, 30 * scale}, random), true);
  add<MaskedCol2imCall<uint32_t>>(random_masked_col2im<uint32_t>({1, 19, 11 * scale, 60 * scale}, random), true);
  add<PointToVoxelCall>(random_point_to_voxel(150 * scale, 19, 5, MLUOP_REDUCE_DMEAN, random), true);
  add<PointToVoxelCall>(random_point_to_voxel(150 * scale, 1, 1 << 30, MLUOP_REDUCE_DMAX, random), true);
  DynamicScatterInputs scatter = random_dynamic_scatter({150 * scale, 50, 19, 45}, random);
  add<DynamicScatterCall>(scatter);
  scatter.reduce_type = MLUOP_REDUCE_DMEAN;
  add<DynamicScatterCall>(scatter, true);
  add<IndiceConvolutionCall<float>>(
      convolution_of_integers<float>({60 * scale, 50, 16, 20, 3, 1, 2}, FilterLayout::kNdhwc, random));
  add<IndiceConvolutionCall<Half>>(
      convolution_of_integers<Half>({30 * scale, 50, 7, 16, 1, 3, 1}, FilterLayout::kArray, random));
  add<IndiceConvolutionBackwardDataCall<float>>(
      random_indice_convolution_backward_data<float>({60 * scale, 50, 16, 20, 3, 1, 2}, kFilterFormats[0], random),
      true);
  add<IndiceConvolutionBackwardFilterCall<Half>>(
      random_indice_convolution_backward_filter<Half>({30 * scale, 50, 7, 16, 1, 3, 1}, random), true);
  IndicePairsProblem convolution = {2,         {7, 20, 30}, {4, 10, 15}, {3, 3, 3}, {2, 2, 2},
                                    {1, 1, 1}, {1, 1, 1},   false,       {}};
  add<GetIndicePairsCall>(random_get_indice_pairs(convolution, 60 * scale, random), true);
  convolution.output_space = convolution.input_space;
  convolution.stride = {1, 1, 1};
  convolution.sub_m = true;
  add<GetIndicePairsCall>(random_get_indice_pairs(convolution, 60 * scale, random), true);
}

bool MixedCalls::all_equal_serial(mluOpHandle_t handle) const {
  bool equal = true;
  for (size_t i = 0; i < size(); ++i) equal = equals_serial(i, handle) && equal;
  return equal;
}

}  // namespace mluop::test
