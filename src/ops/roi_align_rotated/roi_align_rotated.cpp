// mluOpRoiAlignRotatedForward and mluOpRoiAlignRotatedBackward: rules and entries.
// Start with the entries at the end, then run(), pool() and pool_backward() in rotated_rois.h;
// primitives/sampling/roi_grid.h has the samples of a bin, sampled_maps.h their means and gradients.
#include "mlu_op.h"
#include "ops/roi_align_rotated/rotated_rois.h"

namespace mluop::roi_align_rotated {
namespace {

// `from`, `to`: maps and bins in the forward pass, bins and maps in the backward pass.
template <bool kForward>
void run(Call& call, const Parameters& p, const Input& from, const Input& rois, const Output& to) {
  const char *const from_name = kForward ? "features" : "top_grad", *const to_name =
                                                                        kForward ? "output" : "bottom_grad";
  const auto dtype = dtype_of(from.desc);
  const int64_t R = dim_of(rois.desc, 0), C = dim_of(from.desc, 3);
  call.parameter("pooled_height", p.pooled_height, AtLeast{1});
  call.parameter("pooled_width", p.pooled_width, AtLeast{1});
  call.parameter("sample_ratio", p.sampling_ratio, AtLeast{0});
  call.parameter("spatial_scale", p.spatial_scale);
  call.parameter("aligned", p.aligned);
  call.parameter("clockwise", p.clockwise);
  if constexpr (kForward) {
    call.input(from_name, from.desc, from.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
    call.input("rois", rois.desc, rois.data, dtype, kAnyLayout, {kAny, 6});
    call.output(to_name, to.desc, to.data, dtype, MLUOP_LAYOUT_NHWC, {R, p.pooled_height, p.pooled_width, C});
  } else {
    call.input(from_name, from.desc, from.data, dtype, MLUOP_LAYOUT_NHWC,
               {R, p.pooled_height, p.pooled_width, kAny});
    call.input("rois", rois.desc, rois.data, dtype, kAnyLayout, {kAny, 6});
    call.output(to_name, to.desc, to.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, C});
  }
  if (has_no_elements(to.desc)) call.reads_nothing();
  call.check_pointers();
  call.check_parameters();
  require(p.spatial_scale >= 0, MLUOP_STATUS_BAD_PARAM, "spatial_scale is ", p.spatial_scale,
          ", expected at least 0");
  require_sampling_ratio("sample_ratio", p.sampling_ratio);
  require_element_type(from_name, dtype);
  call.check_tensors();
  const Tensors tensors{kForward ? from.desc : to.desc, rois.desc, kForward ? to.desc : from.desc, rois.data};
  const SampledMaps maps = sizes_of(kForward ? from_name : to_name, tensors, p);
  if constexpr (kForward) {
    pool(call, maps, tensors, p, 1, from.data, to.data);
  } else {
    pool_backward(call, maps, tensors, p, 1, from.data, to.data);
  }
}

}  // namespace
}  // namespace mluop::roi_align_rotated

mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignRotatedForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const int sample_ratio, const float spatial_scale, const bool aligned, const bool clockwise,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  return mluop::run_operator("mluOpRoiAlignRotatedForward", handle, [&](mluop::Call& call) {
    mluop::roi_align_rotated::run<true>(
        call, {pooled_height, pooled_width, sample_ratio, spatial_scale, aligned, clockwise},
        {features_desc, features}, {rois_desc, rois}, {output_desc, output});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignRotatedBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t top_grad_desc, const void* top_grad,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const int sample_ratio, const float spatial_scale, const bool aligned, const bool clockwise,
    const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad) {
  return mluop::run_operator("mluOpRoiAlignRotatedBackward", handle, [&](mluop::Call& call) {
    mluop::roi_align_rotated::run<false>(
        call, {pooled_height, pooled_width, sample_ratio, spatial_scale, aligned, clockwise},
        {top_grad_desc, top_grad}, {rois_desc, rois}, {bottom_grad_desc, bottom_grad});
  });
}
