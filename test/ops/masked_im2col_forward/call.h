// A call of mluOpMaskedIm2colForward in guarded memory. Tests change its arguments and run it. T: uint16_t for
// half, uint32_t for float; elements are bit patterns.
#pragma once

#include <random>
#include <vector>

#include "reference/masked_im2col_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

using MaskedIm2colSizes = reference::MaskedIm2colForwardSizes;

template <class T>
struct MaskedIm2colInputs {
  MaskedIm2colSizes sizes;
  std::vector<T> feature;
  std::vector<int32_t> mask_h_idx, mask_w_idx;
};

template <class T>
inline constexpr mluOpDataType_t kMaskedIm2colDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

// Random bit patterns as elements, NaN among them; masks inside the feature, across its edges and, one coordinate
// in 50, any int32.
template <class T>
MaskedIm2colInputs<T> random_masked_im2col(const MaskedIm2colSizes& sizes, std::mt19937& random);

template <class T>
std::vector<T> masked_im2col_reference(const MaskedIm2colInputs<T>& inputs);

// The result of mluOpGetMaskedIm2colForwardWorkspaceSize for elements of type T.
template <class T>
size_t masked_im2col_workspace(mluOpHandle_t handle, const MaskedIm2colSizes& sizes);

template <class T>
struct MaskedIm2colCall : GuardedCall {
  using Inputs = MaskedIm2colInputs<T>;

  MaskedIm2colCall(mluOpHandle_t handle, const MaskedIm2colInputs<T>& inputs,
                   Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  static constexpr ApiFunction<MaskedIm2colCall> kOperator = {"mluOpMaskedIm2colForward", &MaskedIm2colCall::run};
  static constexpr ApiFunction<MaskedIm2colCall> kQuery = {"mluOpGetMaskedIm2colForwardWorkspaceSize",
                                                           &MaskedIm2colCall::query};

  MaskedIm2colSizes sizes;
  GuardedBuffer<T> feature_buffer;
  GuardedBuffer<int32_t> mask_h_buffer, mask_w_buffer;
  GuardedBuffer<T> data_col_buffer;
  GuardedBuffer<size_t> queried_buffer;
  GuardedBuffer<std::byte> workspace_buffer;  // of the size that the query returns
  Descriptor own_feature_desc, own_mask_desc, own_data_col_desc;

  // The arguments of run() and query(), initially the above.
  mluOpTensorDescriptor_t feature_desc, mask_h_idx_desc, mask_w_idx_desc, data_col_desc;
  const void* feature;
  const void* mask_h_idx;
  const void* mask_w_idx;
  void* data_col;
  void* workspace;
  size_t workspace_size;
  size_t* queried_size;
};

}  // namespace mluop::test
