// A call of mluOpThreeNNForward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/three_nn_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

using ThreeNNSizes = reference::ThreeNNForwardSizes;

// T: float or Half.
template <class T>
struct ThreeNNInputs {
  ThreeNNSizes sizes;
  std::vector<T> unknown, known;
};

template <class T>
struct ThreeNNOutputs {
  std::vector<T> dist2;
  std::vector<int32_t> idx;
};

// Coordinates are in [-1, 1).
template <class T>
ThreeNNInputs<T> random_three_nn(const ThreeNNSizes& sizes, std::mt19937& random);

// The result that the operator must return, bit for bit.
template <class T>
ThreeNNOutputs<T> three_nn_reference(const ThreeNNInputs<T>& inputs);

// The result of mluOpGetThreeNNForwardWorkspaceSize.
size_t three_nn_workspace(mluOpHandle_t handle, mluOpDataType_t dtype, const ThreeNNSizes& sizes);

template <class T>
struct ThreeNNCall : GuardedCall {
  using Inputs = ThreeNNInputs<T>;

  ThreeNNCall(mluOpHandle_t handle, const Inputs& inputs, Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  ThreeNNOutputs<T> outputs() const { return {dist2_buffer.values(), idx_buffer.values()}; }
  static constexpr ApiFunction<ThreeNNCall> kOperator = {"mluOpThreeNNForward", &ThreeNNCall::run};
  static constexpr ApiFunction<ThreeNNCall> kQuery = {"mluOpGetThreeNNForwardWorkspaceSize", &ThreeNNCall::query};

  GuardedBuffer<T> unknown_buffer, known_buffer, dist2_buffer;
  GuardedBuffer<int32_t> idx_buffer;
  GuardedBuffer<size_t> queried_buffer;
  GuardedBuffer<std::byte> workspace_buffer;  // of the size that the query returns
  Descriptor own_unknown_desc, own_known_desc, own_dist2_desc, own_idx_desc;

  // The arguments of run() and query(), initially the above.
  mluOpTensorDescriptor_t unknown_desc, known_desc, dist2_desc, idx_desc;
  const void* unknown;
  const void* known;
  void* workspace;
  size_t workspace_size;
  void* dist2;
  void* idx;
  size_t* queried_size;
};

}  // namespace mluop::test
