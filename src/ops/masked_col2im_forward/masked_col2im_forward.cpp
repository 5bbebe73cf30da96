// mluOpMaskedCol2imForward and its workspace query: entries and checks.
// Start with the entries below, then run() in masked_col2im_forward_native.cpp, then the kernels in the order of
// their launches: masked_col2im_forward_native_kernels.h, and check(), index(), expand() and scatter() in
// masked_col2im_forward_native_kernels.cpp.
#include "ops/masked_col2im_forward/masked_col2im_forward.h"
#include "core/dtype.h"

namespace mluop::masked_col2im_forward {
namespace {

struct Descriptors {
  const TensorDescriptor *col, *mask_h_idx, *mask_w_idx, *im;
};

// The data of the tensors; null in the query.
struct Data {
  const void *col, *mask_h_idx, *mask_w_idx;
  void* im;
};

// Declares the tensors and checks everything except the workspace and the values of the masks.
void check_arguments(Call& call, const Descriptors& desc, const Data& data) {
  const mluOpDataType_t dtype = dtype_of(desc.col);
  const int64_t channels = dim_of(desc.col, 0), mask_cnt = dim_of(desc.col, 1);
  call.input("col", desc.col, data.col, dtype, kAnyLayout, {kAny, kAny});
  call.input("mask_h_idx", desc.mask_h_idx, data.mask_h_idx, MLUOP_DTYPE_INT32, kAnyLayout, {mask_cnt});
  call.input("mask_w_idx", desc.mask_w_idx, data.mask_w_idx, MLUOP_DTYPE_INT32, kAnyLayout, {mask_cnt});
  call.output("im", desc.im, data.im, dtype, MLUOP_LAYOUT_NCHW, {1, channels, kAny, kAny});

  call.check_pointers();
  require_element_type("col", dtype);
  call.check_tensors();
  require(element_count(*desc.im) > 0, MLUOP_STATUS_BAD_PARAM, "im has shape ", shape_text(desc.im->shape()),
          ", expected no dimension of 0");
}

// Requires checked arguments.
Args make_args(const Descriptors& desc, const Data& data) {
  return {
      .element_size = static_cast<int32_t>(size_of(desc.col->dtype)),
      .channels = desc.im->dims[1],
      .height = desc.im->dims[2],
      .width = desc.im->dims[3],
      .mask_cnt = desc.col->dims[1],
      .col = data.col,
      .mask_h_idx = static_cast<const int32_t*>(data.mask_h_idx),
      .mask_w_idx = static_cast<const int32_t*>(data.mask_w_idx),
      .im = data.im,
  };
}

constexpr size_t kWorkspaceBytes = 0;

}  // namespace
}  // namespace mluop::masked_col2im_forward

mluOpStatus_t MLUOP_WIN_API mluOpGetMaskedCol2imForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const mluOpTensorDescriptor_t mask_h_idx_desc,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const mluOpTensorDescriptor_t im_desc, size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::masked_col2im_forward;
  return run_workspace_query("mluOpGetMaskedCol2imForwardWorkspaceSize", handle, workspace_size, [&](Call& call) {
    check_arguments(call, {col_desc, mask_h_idx_desc, mask_w_idx_desc, im_desc}, {});
    return kWorkspaceBytes;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpMaskedCol2imForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const void* col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const size_t workspace_size,
    void* workspace, const mluOpTensorDescriptor_t im_desc, void* im) {
  using namespace mluop;
  using namespace mluop::masked_col2im_forward;
  return run_operator("mluOpMaskedCol2imForward", handle, [&](Call& call) {
    const Descriptors desc{col_desc, mask_h_idx_desc, mask_w_idx_desc, im_desc};
    const Data data{col, mask_h_idx, mask_w_idx, im};
    check_arguments(call, desc, data);
    call.workspace(workspace, workspace_size, kWorkspaceBytes);
    native::run(call, make_args(desc, data));
  });
}
