// mluOpOmpRiroiAlignRotatedForward and mluOpOmpRiroiAlignRotatedBackward: rules, the mix of orientations, entries.
// Start with the entries at the end, then run(), and pool() and pool_backward() in rotated_rois.h.
#include <cmath>

#include "mlu_op_omp.h"
#include "ops/roi_align_rotated/rotated_rois.h"

namespace mluop::roi_align_rotated {
namespace {

// The two orientations that an orientation of a RoI is interpolated from: `shift` and `shift` - 1 before it.
struct Rotation {
  Rotation(float angle, int num_orientations) {
    const double turns = double{angle} * num_orientations / (2 * M_PI);
    const double whole = std::floor(turns);
    of_next = static_cast<float>(turns - whole);
    of_first = 1 - of_next;
    const double wrapped = std::fmod(whole, num_orientations);
    shift = std::isfinite(wrapped) ? static_cast<int64_t>(wrapped) : 0;
    if (shift < 0) shift += num_orientations;
  }

  int64_t shift;  // in [0, num_orientations)
  float of_first, of_next;
};

// Forward: orientation o of `to` reads a = o - shift and a + 1 of `from`, modulo their number. Backward: adds it
// to the same two.
template <bool kForward>
void mix(const void* opaque, int64_t roi, int64_t channels, const float* from, float* to) {
  const auto& operands = *static_cast<const Operands*>(opaque);
  const int64_t count = operands.num_orientations;
  const Rotation rotation(operands.scratch.angles[roi], operands.num_orientations);
  for (int64_t first = 0; first < channels; first += count) {
    for (int64_t i = 0; i < count; ++i) {
      // Forward, i is an orientation of `to`; backward, orientation i of `from` belongs to o = i + shift and o -
      // 1.
      const int64_t o = kForward ? (i - rotation.shift + count) % count : (i + rotation.shift) % count;
      const int64_t other = kForward ? (o + 1) % count : (o + count - 1) % count;
      to[first + i] = rotation.of_first * from[first + o] + rotation.of_next * from[first + other];
    }
  }
}

template <bool kForward>
void run(Call& call, const Parameters& p, int num_orientations, const Input& from, const Input& rois,
         const Output& to) {
  const char *const from_name = kForward ? "features" : "top_grad", *const to_name =
                                                                        kForward ? "output" : "bottom_grad";
  const auto dtype = dtype_of(from.desc);
  const int64_t R = dim_of(rois.desc, 0), C = dim_of(from.desc, 3);
  call.parameter("pooled_height", p.pooled_height, AtLeast{1});
  call.parameter("pooled_width", p.pooled_width, AtLeast{1});
  call.parameter("spatial_scale", p.spatial_scale);
  call.parameter("num_samples", p.sampling_ratio, AtLeast{0});
  call.parameter("num_orientations", num_orientations, AtLeast{1});
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
  require_sampling_ratio("num_samples", p.sampling_ratio);
  require_element_type(from_name, dtype);
  require(C % num_orientations == 0, MLUOP_STATUS_BAD_PARAM, from_name, " dim 3 is ", C,
          ", expected a multiple of num_orientations, ", num_orientations);
  call.check_tensors();
  const Tensors tensors{kForward ? from.desc : to.desc, rois.desc, kForward ? to.desc : from.desc, rois.data};
  SampledMaps maps = sizes_of(kForward ? from_name : to_name, tensors, p);
  maps.mixed = num_orientations;
  maps.mix = mix<kForward>;
  if constexpr (kForward) {
    pool(call, maps, tensors, p, num_orientations, from.data, to.data);
  } else {
    pool_backward(call, maps, tensors, p, num_orientations, from.data, to.data);
  }
}

}  // namespace
}  // namespace mluop::roi_align_rotated

mluOpStatus_t MLUOP_WIN_API mluOpOmpRiroiAlignRotatedForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int num_samples, const int num_orientations, const bool clockwise,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  return mluop::run_operator("mluOpOmpRiroiAlignRotatedForward", handle, [&](mluop::Call& call) {
    mluop::roi_align_rotated::run<true>(
        call, {pooled_height, pooled_width, num_samples, spatial_scale, false, clockwise}, num_orientations,
        {features_desc, features}, {rois_desc, rois}, {output_desc, output});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpRiroiAlignRotatedBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t top_grad_desc, const void* top_grad,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int num_samples, const int num_orientations, const bool clockwise,
    const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad) {
  return mluop::run_operator("mluOpOmpRiroiAlignRotatedBackward", handle, [&](mluop::Call& call) {
    mluop::roi_align_rotated::run<false>(
        call, {pooled_height, pooled_width, num_samples, spatial_scale, false, clockwise}, num_orientations,
        {top_grad_desc, top_grad}, {rois_desc, rois}, {bottom_grad_desc, bottom_grad});
  });
}
