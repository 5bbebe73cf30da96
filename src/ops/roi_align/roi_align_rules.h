// RoI align: declarations and rules shared by both operators.
#pragma once

#include <array>

#include "core/tensor.h"
#include "ops/roi_align/roi_align.h"
#include "primitives/sampling/rois.h"
#include "team/operator_call.h"

namespace mluop::roi_align {

// The layout of the tensors of images and bins: NCHW if both have it, otherwise NHWC.
inline mluOpTensorLayout_t layout_of(const TensorDescriptor* images, const TensorDescriptor* bins) {
  const auto is_nchw = [](const TensorDescriptor* desc) {
    return desc != nullptr && desc->layout == MLUOP_LAYOUT_NCHW;
  };
  return is_nchw(images) && is_nchw(bins) ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_NHWC;
}

// Dimensions of such a tensor: of images or RoIs, of channels, and of pixels or bins.
struct Extents {
  Extents(const TensorDescriptor* desc, mluOpTensorLayout_t layout)
      : count(dim_of(desc, 0)),
        channels(dim_of(desc, layout == MLUOP_LAYOUT_NCHW ? 1 : 3)),
        height(dim_of(desc, layout == MLUOP_LAYOUT_NCHW ? 2 : 1)),
        width(dim_of(desc, layout == MLUOP_LAYOUT_NCHW ? 3 : 2)) {}

  int64_t count, channels, height, width;
};

// All its dimensions except the first.
inline std::array<int64_t, 3> inner_dims(mluOpTensorLayout_t layout, int64_t channels, int64_t height,
                                         int64_t width) {
  if (layout == MLUOP_LAYOUT_NCHW) return {channels, height, width};
  return {height, width, channels};
}

// Requires that argmax is absent for means.
template <class T>
void check_argmax(PoolMode mode, const Passed<T>& argmax_x, const Passed<T>& argmax_y) {
  if (mode == PoolMode::kMax) return;
  require_missing("argmax_x", argmax_x, "with pool_mode 1");
  require_missing("argmax_y", argmax_y, "with pool_mode 1");
}

// The rules for pixels and samples, for a call with bins.
inline void check_image(std::string_view name, const Args& args) {
  require_sampling_ratio("sampling_ratio", args.sampling_ratio);
  require_int32_count("the height of images", args.H);
  require_int32_count("the width of images", args.W);
  if (args.R * args.C == 0) return;
  require(args.B * args.image_pixels() > 0, MLUOP_STATUS_BAD_PARAM, name, " has ", args.B, " images of ", args.H,
          " x ", args.W, " pixels, expected at least 1 of 1 x 1");
}

}  // namespace mluop::roi_align
