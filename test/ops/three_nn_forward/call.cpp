#include "ops/three_nn_forward/call.h"

#include "support/element.h"

namespace mluop::test {

template <class T>
ThreeNNInputs<T> random_three_nn(const ThreeNNSizes& sizes, std::mt19937& random) {
  ThreeNNInputs<T> inputs{sizes, {}, {}};
  // 24 bits, which fp32 represents exactly.
  const auto coordinate = [&] { return rounded_to<T>(static_cast<float>(random() >> 8) * 0x1p-23F - 1); };
  for (int64_t i = 0; i < sizes.unknown_count(); ++i) inputs.unknown.push_back(coordinate());
  for (int64_t i = 0; i < sizes.known_count(); ++i) inputs.known.push_back(coordinate());
  return inputs;
}

template <class T>
ThreeNNOutputs<T> three_nn_reference(const ThreeNNInputs<T>& inputs) {
  const auto count = static_cast<size_t>(inputs.sizes.unknown_count());
  ThreeNNOutputs<T> outputs{std::vector<T>(count), std::vector<int32_t>(count)};
  reference::three_nn_forward(inputs.sizes, inputs.unknown.data(), inputs.known.data(), outputs.dist2.data(),
                              outputs.idx.data());
  return outputs;
}

size_t three_nn_workspace(mluOpHandle_t handle, mluOpDataType_t dtype, const ThreeNNSizes& sizes) {
  size_t bytes = 0;
  const Descriptor known(dtype, {sizes.B, sizes.M, 3});
  require(mluOpGetThreeNNForwardWorkspaceSize(handle, known, &bytes));
  return bytes;
}

template <class T>
ThreeNNCall<T>::ThreeNNCall(mluOpHandle_t with, const Inputs& inputs, Placement placement)
    : GuardedCall(with),
      unknown_buffer(inputs.unknown, placement),
      known_buffer(inputs.known, placement),
      dist2_buffer(static_cast<size_t>(inputs.sizes.unknown_count()), placement),
      idx_buffer(static_cast<size_t>(inputs.sizes.unknown_count()), placement),
      queried_buffer(1),
      workspace_buffer(three_nn_workspace(with, kDtype<T>, inputs.sizes), placement),
      own_unknown_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.N, 3}),
      own_known_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.M, 3}),
      own_dist2_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.N, 3}),
      own_idx_desc(MLUOP_DTYPE_INT32, {inputs.sizes.B, inputs.sizes.N, 3}),
      unknown_desc(own_unknown_desc),
      known_desc(own_known_desc),
      dist2_desc(own_dist2_desc),
      idx_desc(own_idx_desc),
      unknown(unknown_buffer.data()),
      known(known_buffer.data()),
      workspace(workspace_buffer.size() == 0 ? nullptr : workspace_buffer.data()),
      workspace_size(workspace_buffer.size()),
      dist2(dist2_buffer.data()),
      idx(idx_buffer.data()),
      queried_size(queried_buffer.data()) {
  set_buffers({&unknown_buffer, &known_buffer}, {&dist2_buffer, &idx_buffer, &queried_buffer},
              {&workspace_buffer});
}

template <class T>
mluOpStatus_t ThreeNNCall<T>::query() const {
  return mluOpGetThreeNNForwardWorkspaceSize(handle, known_desc, queried_size);
}

template <class T>
mluOpStatus_t ThreeNNCall<T>::run() const {
  return mluOpThreeNNForward(handle, unknown_desc, unknown, known_desc, known, workspace, workspace_size,
                             dist2_desc, dist2, idx_desc, idx);
}

template ThreeNNInputs<float> random_three_nn(const ThreeNNSizes&, std::mt19937&);
template ThreeNNInputs<Half> random_three_nn(const ThreeNNSizes&, std::mt19937&);
template ThreeNNOutputs<float> three_nn_reference(const ThreeNNInputs<float>&);
template ThreeNNOutputs<Half> three_nn_reference(const ThreeNNInputs<Half>&);
template struct ThreeNNCall<float>;
template struct ThreeNNCall<Half>;

}  // namespace mluop::test
