// mluOpMaskedIm2colForward and its workspace query: entries and checks.
// Start with the entries below, then run() and make_plan() in masked_im2col_forward_native.cpp, then
// gather_packed() and gather_direct() in masked_im2col_forward_native_kernels.cpp, with the work items and NRAM of
// its header. The device algorithm: run() in masked_im2col_forward_device.cpp, then its kernels.
#include <optional>

#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/masked_im2col_forward/masked_im2col_forward.h"

namespace mluop::masked_im2col_forward {
namespace {

// The parameters shared by the operator and its query.
struct Parameters {
  // The number of rows of data_col; none if the feature has no channels or the number exceeds int64_t.
  std::optional<int64_t> row_count() const {
    const int64_t channels = dim_of(feature_desc, 1);
    return channels > 0 ? checked_product(channels, int64_t{kernel_h} * kernel_w) : std::nullopt;
  }

  const TensorDescriptor *feature_desc, *mask_h_idx_desc, *mask_w_idx_desc, *data_col_desc;
  int kernel_h, kernel_w;
  int pad_h = 0, pad_w = 0;  // unset in the query
};

// The data of the tensors; null in the query.
struct Data {
  const void *feature, *mask_h_idx, *mask_w_idx;
  void* data_col;
};

// Declares the tensors and checks everything except the workspace.
void check_arguments(Call& call, const Parameters& p, const Data& data) {
  const auto array = MLUOP_LAYOUT_ARRAY;
  const mluOpDataType_t dtype = dtype_of(p.feature_desc);
  const int64_t mask_cnt = dim_of(p.mask_h_idx_desc, 0);
  const auto rows = p.row_count();
  call.parameter("kernel_h", p.kernel_h, AtLeast{1});
  call.parameter("kernel_w", p.kernel_w, AtLeast{1});
  call.parameter("pad_h", p.pad_h);
  call.parameter("pad_w", p.pad_w);
  call.input("feature", p.feature_desc, data.feature, dtype, MLUOP_LAYOUT_NCHW, {1, kAny, kAny, kAny});
  call.input("mask_h_idx", p.mask_h_idx_desc, data.mask_h_idx, MLUOP_DTYPE_INT32, kAnyLayout, {kAny});
  call.input("mask_w_idx", p.mask_w_idx_desc, data.mask_w_idx, MLUOP_DTYPE_INT32, kAnyLayout, {mask_cnt});
  call.output("data_col", p.data_col_desc, data.data_col, dtype, array, {rows.value_or(kAny), mask_cnt});
  if (mask_cnt == 0) call.reads_nothing();

  call.check_pointers();
  require_element_type("feature", p.feature_desc->dtype);
  call.check_parameters();
  require(dim_of(p.feature_desc, 1) == 0 || rows.has_value(), MLUOP_STATUS_BAD_PARAM, "feature dim 1 is ",
          dim_of(p.feature_desc, 1), ", expected fewer than 2^63 / (kernel_h x kernel_w)");
  call.check_tensors();
  require(element_count(*p.feature_desc) > 0, MLUOP_STATUS_BAD_PARAM, "feature has shape ",
          shape_text(p.feature_desc->shape()), ", expected no dimension of 0");
}

// Requires checked arguments.
Args make_args(const Parameters& p, const Data& data) {
  return {
      .element_size = static_cast<int32_t>(size_of(p.feature_desc->dtype)),
      .channels = p.feature_desc->dims[1],
      .height = p.feature_desc->dims[2],
      .width = p.feature_desc->dims[3],
      .mask_cnt = p.mask_h_idx_desc->dims[0],
      .kernel_h = p.kernel_h,
      .kernel_w = p.kernel_w,
      .pad_h = p.pad_h,
      .pad_w = p.pad_w,
      .feature = data.feature,
      .mask_h_idx = static_cast<const int32_t*>(data.mask_h_idx),
      .mask_w_idx = static_cast<const int32_t*>(data.mask_w_idx),
      .data_col = data.data_col,
  };
}

bool uses_device_algorithm(const Call& call) { return call.context().algorithm == MLUOP_OMP_ALGORITHM_DEVICE; }

// The native algorithm needs no workspace: it keeps channels innermost in NRAM, one group at a time.
size_t workspace_bytes(const Call& call, const Args& args) {
  return uses_device_algorithm(call) ? device::workspace_bytes(args) : 0;
}

}  // namespace
}  // namespace mluop::masked_im2col_forward

mluOpStatus_t MLUOP_WIN_API mluOpGetMaskedIm2colForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const int kernel_h, const int kernel_w, const mluOpTensorDescriptor_t data_col_desc, size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::masked_im2col_forward;
  return run_workspace_query("mluOpGetMaskedIm2colForwardWorkspaceSize", handle, workspace_size, [&](Call& call) {
    const Parameters parameters{feature_desc, mask_h_idx_desc, mask_w_idx_desc, data_col_desc, kernel_h, kernel_w};
    check_arguments(call, parameters, {});
    return workspace_bytes(call, make_args(parameters, {}));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpMaskedIm2colForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void* feature,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const int kernel_h, const int kernel_w,
    const int pad_h, const int pad_w, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t data_col_desc, void* data_col) {
  using namespace mluop;
  using namespace mluop::masked_im2col_forward;
  return run_operator("mluOpMaskedIm2colForward", handle, [&](Call& call) {
    const Parameters parameters{feature_desc, mask_h_idx_desc, mask_w_idx_desc, data_col_desc,
                                kernel_h,     kernel_w,        pad_h,           pad_w};
    const Data data{feature, mask_h_idx, mask_w_idx, data_col};
    check_arguments(call, parameters, data);
    const Args args = make_args(parameters, data);
    const Arena arena = call.workspace(workspace, workspace_size, workspace_bytes(call, args));
    if (args.mask_cnt == 0) return;
    if (uses_device_algorithm(call)) {
      device::run(call, args, arena);
    } else {
      native::run(call, args);
    }
  });
}
