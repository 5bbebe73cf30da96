// A call of mluOpMaskedCol2imForward in guarded memory. Tests change its arguments and run it. T: uint16_t for
// half, uint32_t for float; elements are bit patterns.
#pragma once

#include <random>
#include <vector>

#include "reference/masked_col2im_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"

namespace mluop::test {

using MaskedCol2imSizes = reference::MaskedCol2imForwardSizes;

template <class T>
struct MaskedCol2imInputs {
  MaskedCol2imSizes sizes;
  std::vector<T> col;
  std::vector<int32_t> mask_h_idx, mask_w_idx;
};

// Random bit patterns as elements, NaN among them; masks anywhere in the image, in any order, some of them equal.
template <class T>
MaskedCol2imInputs<T> random_masked_col2im(const MaskedCol2imSizes& sizes, std::mt19937& random);

template <class T>
std::vector<T> masked_col2im_reference(const MaskedCol2imInputs<T>& inputs);

template <class T>
struct MaskedCol2imCall : GuardedCall {
  using Inputs = MaskedCol2imInputs<T>;
  static constexpr mluOpDataType_t kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  MaskedCol2imCall(mluOpHandle_t handle, const MaskedCol2imInputs<T>& inputs,
                   Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  // The workspace query; writes to queried_size.
  mluOpStatus_t query() const;
  static constexpr ApiFunction<MaskedCol2imCall> kOperator = {"mluOpMaskedCol2imForward", &MaskedCol2imCall::run};
  static constexpr ApiFunction<MaskedCol2imCall> kQuery = {"mluOpGetMaskedCol2imForwardWorkspaceSize",
                                                           &MaskedCol2imCall::query};

  MaskedCol2imSizes sizes;
  GuardedBuffer<T> col_buffer;
  GuardedBuffer<int32_t> mask_h_buffer, mask_w_buffer;
  GuardedBuffer<T> im_buffer;
  GuardedBuffer<size_t> queried_buffer;
  Descriptor own_col_desc, own_mask_desc, own_im_desc;

  // The arguments of run() and query(), initially the above.
  mluOpTensorDescriptor_t col_desc, mask_h_idx_desc, mask_w_idx_desc, im_desc;
  const void* col;
  const void* mask_h_idx;
  const void* mask_w_idx;
  void* im;
  void* workspace = nullptr;
  size_t workspace_size = 0;
  size_t* queried_size;
};

}  // namespace mluop::test
