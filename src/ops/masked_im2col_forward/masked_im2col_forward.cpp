// mluOpMaskedIm2colForward and its workspace query: entry and checks.
#include <algorithm>
#include <limits>
#include <optional>

#include "core/boundary.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/log.h"
#include "core/sizes.h"
#include "ops/masked_im2col_forward/plan.h"

namespace mluop {
namespace {

constexpr auto kName = "mluOpMaskedIm2colForward";
constexpr auto kQueryName = "mluOpGetMaskedIm2colForwardWorkspaceSize";

struct Descriptors {
  const TensorDescriptor* feature;
  const TensorDescriptor* mask_h_idx;
  const TensorDescriptor* mask_w_idx;
  const TensorDescriptor* data_col;
};

// channels x kernel_h x kernel_w, or nothing.
std::optional<int64_t> row_count(int64_t channels, int kernel_h, int kernel_w) {
  return checked_product(channels, int64_t{kernel_h} * kernel_w);
}

// The rules that the query and the operator share.
bool shapes_hold(Checks& check, const Descriptors& desc, int kernel_h, int kernel_w) {
  const auto bad = MLUOP_STATUS_BAD_PARAM;
  const auto supported = [](mluOpDataType_t dtype) {
    return dtype == MLUOP_DTYPE_HALF || dtype == MLUOP_DTYPE_FLOAT;
  };
  return check.not_null("feature_desc", desc.feature) &&
         check.rule(supported(desc.feature->dtype), bad, "feature has data type ", name_of(desc.feature->dtype),
                    ", expected HALF or FLOAT") &&
         check.tensor("feature", desc.feature, desc.feature->dtype, MLUOP_LAYOUT_NCHW, {1, -1, -1, -1}) &&
         check.rule(element_count(*desc.feature) > 0, bad, "feature has shape ", shape_text(desc.feature->shape()),
                    ", expected no dimension of 0") &&
         check.tensor("mask_h_idx", desc.mask_h_idx, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {-1}) &&
         check.tensor("mask_w_idx", desc.mask_w_idx, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY,
                      {desc.mask_h_idx->dims[0]}) &&
         check.positive("kernel_h", kernel_h) && check.positive("kernel_w", kernel_w) &&
         check.rule(row_count(desc.feature->dims[1], kernel_h, kernel_w).has_value(), bad, "feature dim 1 is ",
                    desc.feature->dims[1], ", expected fewer than 2^63 / (kernel_h x kernel_w)") &&
         check.tensor("data_col", desc.data_col, desc.feature->dtype, MLUOP_LAYOUT_ARRAY,
                      {*row_count(desc.feature->dims[1], kernel_h, kernel_w), desc.mask_h_idx->dims[0]});
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpGetMaskedIm2colForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const int kernel_h, const int kernel_w, const mluOpTensorDescriptor_t data_col_desc, size_t* workspace_size) {
  using namespace mluop;
  return guarded(kQueryName, [&] {
    Checks check(kQueryName);
    const Descriptors desc{feature_desc, mask_h_idx_desc, mask_w_idx_desc, data_col_desc};
    if (!(check.not_null("handle", handle) && check.not_null("workspace_size", workspace_size) &&
          shapes_hold(check, desc, kernel_h, kernel_w))) {
      return check.status();
    }
    // The design document keeps feature and result there with channels innermost; here NRAM holds them so, a few
    // channels at a time.
    *workspace_size = 0;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpMaskedIm2colForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void* feature,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const int kernel_h, const int kernel_w,
    const int pad_h, const int pad_w, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t data_col_desc, void* data_col) {
  using namespace mluop;
  return guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    const Descriptors desc{feature_desc, mask_h_idx_desc, mask_w_idx_desc, data_col_desc};
    // Not used, so neither null nor any size is wrong; but what is handed over must not be the output.
    constexpr size_t kMost = std::numeric_limits<int64_t>::max();
    const auto workspace_bytes = workspace == nullptr ? 0 : static_cast<int64_t>(std::min(workspace_size, kMost));
    if (!(shapes_hold(check, desc, kernel_h, kernel_w) && check.data("feature", feature_desc, feature) &&
          check.data("mask_h_idx", mask_h_idx_desc, mask_h_idx) &&
          check.data("mask_w_idx", mask_w_idx_desc, mask_w_idx) &&
          check.data("data_col", data_col_desc, data_col) &&
          check.no_overlap({{"data_col", data_col, byte_count(*data_col_desc)}},
                           {{"feature", feature, byte_count(*feature_desc)},
                            {"mask_h_idx", mask_h_idx, byte_count(*mask_h_idx_desc)},
                            {"mask_w_idx", mask_w_idx, byte_count(*mask_w_idx_desc)},
                            {"workspace", workspace, workspace_bytes}}))) {
      return check.status();
    }
    if (element_count(*data_col_desc) == 0) {
      if (debug_log_enabled()) log_debug(text("[", kName, "] mask_cnt is 0: nothing to do"));
      return MLUOP_STATUS_SUCCESS;
    }
    const masked_im2col_forward::Args args{
        .element_size = static_cast<int32_t>(size_of(feature_desc->dtype)),
        .channels = feature_desc->dims[1],
        .height = feature_desc->dims[2],
        .width = feature_desc->dims[3],
        .mask_cnt = mask_h_idx_desc->dims[0],
        .kernel_h = kernel_h,
        .kernel_w = kernel_w,
        .pad_h = pad_h,
        .pad_w = pad_w,
        .feature = feature,
        .mask_h_idx = static_cast<const int32_t*>(mask_h_idx),
        .mask_w_idx = static_cast<const int32_t*>(mask_w_idx),
        .data_col = data_col,
    };
    const auto plan = masked_im2col_forward::make_plan(*handle, args);
    if (debug_log_enabled()) {
      log_debug(text("[", kName, "] feature ", describe(*feature_desc), ", mask_cnt ", args.mask_cnt, ", kernel ",
                     kernel_h, " x ", kernel_w, ", pad ", pad_h, " x ", pad_w, ", data_col ",
                     describe(*data_col_desc), ", ", plan.packed ? "packed" : "direct", ", taskDim ",
                     plan.task_dim, ", tile of ", plan.tile_masks, " masks"));
    }
    masked_im2col_forward::run(*handle, plan, args);
    return MLUOP_STATUS_SUCCESS;
  });
}
