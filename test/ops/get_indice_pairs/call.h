// A call of mluOpGetIndicePairs in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/get_indice_pairs.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

using reference::IndicePairsProblem;
using reference::IndicePairsResult;

struct GetIndicePairsInputs {
  // Indices and out_indices lack the depth, as with dimNb = 4.
  bool two_dimensions = false;
  IndicePairsProblem problem;
  int64_t capacity;  // rows of out_indices
};

// `count` random sites of the input space, distinct if `distinct`, in any order. The capacity is the number of
// output sites.
GetIndicePairsInputs random_get_indice_pairs(const IndicePairsProblem& convolution, int64_t count,
                                             std::mt19937& random, bool distinct = true);

// The extent of the output of a convolution: (in + 2 pad - dilation (kernel - 1) - 1) / stride + 1.
IndicePairsProblem::Extent output_space_of(const IndicePairsProblem& problem);

struct GetIndicePairsCall : GuardedCall {
  using Inputs = GetIndicePairsInputs;

  GetIndicePairsCall(mluOpHandle_t handle, const GetIndicePairsInputs& inputs,
                     Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  static constexpr ApiFunction<GetIndicePairsCall> kOperator = {"mluOpGetIndicePairs", &GetIndicePairsCall::run};
  static constexpr ApiFunction<GetIndicePairsCall> kQuery = {"mluOpGetIndicePairsWorkspaceSize",
                                                             &GetIndicePairsCall::query};
  // Sets own_sparse_conv_desc to another convolution.
  void set_convolution(const IndicePairsProblem& problem) const;
  int num_act_out() const;

  GetIndicePairsInputs inputs;
  SparseConvolutionDescriptor own_sparse_conv_desc;
  Descriptor own_indices_desc, own_pairs_desc, own_out_desc, own_num_desc;
  GuardedBuffer<int32_t> indices_buffer, pairs_buffer, out_buffer, num_buffer;
  GuardedBuffer<size_t> queried_buffer;
  GuardedBuffer<std::byte> workspace_buffer;  // of the size that the query returns

  // The arguments of run() and query(), initially the above.
  mluOpSparseConvolutionDescriptor_t sparse_conv_desc;
  mluOpTensorDescriptor_t indices_desc, indice_pairs_desc, out_indices_desc, indice_num_desc;
  const void* indices;
  void *indice_pairs, *out_indices, *indice_num;
  void* workspace;
  size_t workspace_size;
  size_t* queried_size;
};

}  // namespace mluop::test
