// mluOpRoiAlignBackward_v2: entry and checks.
// Start with the entry below, then run_backward() in roi_align_native.cpp, the tables of RoIs in
// roi_align_tables.cpp, and add_means() and add_maxima() in roi_align_backward_native_kernels.cpp.
#include "ops/roi_align/roi_align.h"
#include "ops/roi_align/roi_align_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grads_desc, const void* grads,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes, const mluOpTensorDescriptor_t argmax_x_desc,
    const void* argmax_x, const mluOpTensorDescriptor_t argmax_y_desc, const void* argmax_y,
    const float spatial_scale, const int sampling_ratio, const bool aligned, const int pool_mode,
    const mluOpTensorDescriptor_t grads_image_desc, void* grads_image) {
  using namespace mluop;
  return run_operator("mluOpRoiAlignBackward_v2", handle, [&](Call& call) {
    const auto dtype = dtype_of(grads_desc);
    const auto layout = roi_align::layout_of(grads_image_desc, grads_desc);
    const roi_align::Extents bins(grads_desc, layout), image(grads_image_desc, layout);
    const int64_t R = dim_of(boxes_desc, 0), C = bins.channels, PH = bins.height, PW = bins.width;
    const auto mode = static_cast<roi_align::PoolMode>(pool_mode);
    const auto dims = roi_align::inner_dims(layout, C, PH, PW);
    const auto pixels = roi_align::inner_dims(layout, C, kAny, kAny);
    const auto declare_argmax = [&](std::string_view name, const Input& argmax) {
      if (mode != roi_align::PoolMode::kMax) return;
      call.input(name, argmax.desc, argmax.data, dtype, layout, {R, dims[0], dims[1], dims[2]});
    };
    call.parameter("spatial_scale", spatial_scale);
    call.parameter("sampling_ratio", sampling_ratio);
    call.parameter("aligned", aligned);
    call.parameter("pool_mode", pool_mode);
    call.input("grads", grads_desc, grads, dtype, layout, {R, kAny, kAny, kAny});
    call.output("grads_image", grads_image_desc, grads_image, dtype, layout,
                {kAny, pixels[0], pixels[1], pixels[2]});
    call.input("boxes", boxes_desc, boxes, dtype, kAnyLayout, {kAny, 5});
    declare_argmax("argmax_x", {argmax_x_desc, argmax_x});
    declare_argmax("argmax_y", {argmax_y_desc, argmax_y});

    call.check_pointers();
    require_flag("pool_mode", pool_mode);
    roi_align::check_argmax(mode, Input{argmax_x_desc, argmax_x}, Input{argmax_y_desc, argmax_y});
    require_element_type("grads", dtype);
    call.check_tensors();
    const roi_align::Args args{.B = image.count,
                               .C = C,
                               .H = image.height,
                               .W = image.width,
                               .R = R,
                               .PH = PH,
                               .PW = PW,
                               .channels_last = layout == MLUOP_LAYOUT_NHWC,
                               .mode = mode,
                               .aligned = aligned,
                               .sampling_ratio = sampling_ratio,
                               .spatial_scale = spatial_scale,
                               .dtype = dtype,
                               .boxes = boxes};
    roi_align::check_image("grads_image", args);
    roi_align::native::run_backward(call, {args, grads, argmax_x, argmax_y, grads_image});
  });
}

// The first version, which MLU-OPS declares and refuses before any check.
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward(mluOpHandle_t, const float, const int, const bool,
                                                  const mluOpTensorDescriptor_t, const void*,
                                                  const mluOpTensorDescriptor_t, const void*,
                                                  const mluOpTensorDescriptor_t, void*) {
  return mluop::run_guarded("mluOpRoiAlignBackward", [] {
    throw mluop::Failure(MLUOP_STATUS_NOT_SUPPORTED, "not supported, use mluOpRoiAlignBackward_v2");
  });
}
