// mluOpRoiAlignForward_v2: entry and checks; src/api/roi_align_descriptor.cpp has its descriptor.
// Start with the entry below, then run_forward() in roi_align_native.cpp, the tables of RoIs in
// roi_align_tables.cpp, and pool_means() and pool_maxima() in roi_align_forward_native_kernels.cpp.
#include "core/roi_align.h"
#include "ops/roi_align/roi_align.h"
#include "ops/roi_align/roi_align_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignForward_v2(mluOpHandle_t handle,
                                                    const mluOpRoiAlignForwardDescriptor_t roialign_desc,
                                                    const mluOpTensorDescriptor_t input_desc, const void* input,
                                                    const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                    const mluOpTensorDescriptor_t output_desc, void* output,
                                                    const mluOpTensorDescriptor_t argmax_x_desc, void* argmax_x,
                                                    const mluOpTensorDescriptor_t argmax_y_desc, void* argmax_y) {
  using namespace mluop;
  return run_operator("mluOpRoiAlignForward_v2", handle, [&](Call& call) {
    require_not_null("roialign_desc", roialign_desc);
    const RoiAlignForwardDescriptor& p = *roialign_desc;
    const auto dtype = dtype_of(input_desc);
    const auto layout = roi_align::layout_of(input_desc, output_desc);
    const roi_align::Extents image(input_desc, layout);
    const int64_t R = dim_of(boxes_desc, 0), C = image.channels, PH = p.pooled_height, PW = p.pooled_width;
    const auto mode = static_cast<roi_align::PoolMode>(p.pool_mode);
    const auto dims = roi_align::inner_dims(layout, C, PH, PW);
    const auto declare_bins = [&](std::string_view name, const Output& bins) {
      call.output(name, bins.desc, bins.data, dtype, layout, {R, dims[0], dims[1], dims[2]});
    };
    call.parameter("pooled_height", p.pooled_height);
    call.parameter("pooled_width", p.pooled_width);
    call.parameter("sampling_ratio", p.sampling_ratio);
    call.parameter("spatial_scale", p.spatial_scale);
    call.parameter("aligned", p.aligned);
    call.parameter("pool_mode", p.pool_mode);
    call.input("input", input_desc, input, dtype, layout, {kAny, kAny, kAny, kAny});
    call.input("boxes", boxes_desc, boxes, dtype, kAnyLayout, {kAny, 5});
    declare_bins("output", {output_desc, output});
    if (mode == roi_align::PoolMode::kMax) {
      declare_bins("argmax_x", {argmax_x_desc, argmax_x});
      declare_bins("argmax_y", {argmax_y_desc, argmax_y});
    }
    if (R * C == 0) call.reads_nothing();

    call.check_pointers();
    require(p.is_set, MLUOP_STATUS_BAD_PARAM,
            "roialign_desc is not set, expected mluOpSetRoiAlignForwardDescriptor_v2 before");
    roi_align::check_argmax(mode, Output{argmax_x_desc, argmax_x}, Output{argmax_y_desc, argmax_y});
    require_element_type("input", dtype);
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
                               .aligned = p.aligned,
                               .sampling_ratio = p.sampling_ratio,
                               .spatial_scale = p.spatial_scale,
                               .dtype = dtype,
                               .boxes = boxes};
    roi_align::check_image("input", args);
    roi_align::native::run_forward(call, {args, input, output, argmax_x, argmax_y});
  });
}
