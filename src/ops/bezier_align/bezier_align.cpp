// mluOpOmpBezierAlignForward and mluOpOmpBezierAlignBackward in one file: rules, geometry, launches, entries.
// Start with the entries at the end, then run(), which checks and launches; Roi has the samples of a bin,
// primitives/sampling/sampled_maps.h their means and gradients.
//
// Letters: B maps of C channels, H x W pixels; R RoIs of PH x PW bins.
#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "mlu_op_omp.h"
#include "primitives/sampling/roi_grid.h"
#include "primitives/sampling/rois.h"
#include "primitives/sampling/sampled_maps.h"
#include "team/operator_call.h"

namespace mluop::bezier_align {
namespace {

struct Parameters {
  int aligned_height, aligned_width;
  float spatial_scale;
  int sampling_ratio;
  bool aligned;
};

// A cubic Bezier curve along an axis, with the arithmetic of mmcv: products and sums in double, one rounding.
float curve(float p0, float p1, float p2, float p3, float u) {
  const double v = 1.0 - double{u}, t = double{u};
  return static_cast<float>(v * v * v * p0 + 3.0 * t * v * v * p1 + 3.0 * t * t * v * p2 + t * t * t * p3);
}

struct Roi {
  Roi(const float* numbers, const Parameters& p) : offset(p.aligned ? 0.5F : 0.0F) {
    for (int i = 0; i < 16; ++i) points[i] = numbers[1 + i] * p.spatial_scale;
    const auto size = [&](int axis) {
      const float upper = std::abs(points[axis] - points[6 + axis]);
      const float lower = std::abs(points[8 + axis] - points[14 + axis]);
      const float larger = upper < lower ? lower : upper;
      return !p.aligned && larger < 1 ? 1.0F : larger;
    };
    x = GridAxis(0, size(0), p.aligned_width, p.sampling_ratio);
    y = GridAxis(0, size(1), p.aligned_height, p.sampling_ratio);
  }

  // The center of a bin along an axis, 0 for x.
  float center(int axis, float u, float v) const {
    const float* const p = points + axis;
    const float upper = curve(p[0], p[2], p[4], p[6], u), lower = curve(p[14], p[12], p[10], p[8], u);
    return lower * v + upper * (1 - v) - offset;
  }

  float points[16];  // x, y of eight points
  float offset;
  GridAxis y, x;  // sizes and numbers of samples
};

struct Scratch {
  Scratch(Arena& arena, int64_t R)
      : images(arena.take<int32_t>("images", {R})),
        divisors(arena.take<float>("divisors", {R})),
        rois(arena.take<Roi>("rois", {R})) {}

  int32_t* images;
  float* divisors;
  Roi* rois;
};

struct Operands {
  const Roi* rois;
  int64_t PH, PW;
};

void add_taps(const void* opaque, int64_t roi, int64_t bin, TapSink& to) {
  const auto& [rois, PH, PW] = *static_cast<const Operands*>(opaque);
  const Roi& of = rois[roi];
  const int64_t row = bin / PW, column = bin % PW;
  const float u = static_cast<float>(column) / static_cast<float>(PW);
  const float v = static_cast<float>(row) / static_cast<float>(PH);
  GridAxis y = of.y, x = of.x;
  y.start = of.center(1, u, v) - y.bin / 2;
  x.start = of.center(0, u, v) - x.bin / 2;
  // All positions are NaN or infinite: one sample has the value of all.
  if (y.samples * x.samples > 0 && !std::isfinite(y.start + x.start)) y.samples = x.samples = 1;
  for_each_grid_sample(y, x, 0, 0, to.height, to.width,
                       [&](float at_y, float at_x) { to.add_sample(at_y, at_x); });
}

// `from`, `to`: maps and bins in the forward pass, bins and maps in the backward pass.
template <bool kForward>
void run(Call& call, const Parameters& p, const Input& from, const Input& rois, const Output& to) {
  const char *const from_name = kForward ? "input" : "grad_output", *const to_name =
                                                                        kForward ? "output" : "grad_input";
  const auto dtype = dtype_of(from.desc);
  const int64_t R = dim_of(rois.desc, 0), C = dim_of(from.desc, 3), PH = p.aligned_height, PW = p.aligned_width;
  call.parameter("aligned_height", p.aligned_height, AtLeast{0});
  call.parameter("aligned_width", p.aligned_width, AtLeast{0});
  call.parameter("spatial_scale", p.spatial_scale);
  call.parameter("sampling_ratio", p.sampling_ratio);
  call.parameter("aligned", p.aligned);
  if constexpr (kForward) {
    call.input(from_name, from.desc, from.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
    call.input("rois", rois.desc, rois.data, dtype, kAnyLayout, {kAny, 17});
    call.output(to_name, to.desc, to.data, dtype, MLUOP_LAYOUT_NHWC, {R, PH, PW, C});
  } else {
    call.input(from_name, from.desc, from.data, dtype, MLUOP_LAYOUT_NHWC, {R, PH, PW, kAny});
    call.input("rois", rois.desc, rois.data, dtype, kAnyLayout, {kAny, 17});
    call.output(to_name, to.desc, to.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, C});
  }
  if (has_no_elements(to.desc)) call.reads_nothing();

  call.check_pointers();
  call.check_parameters();
  require_element_type(from_name, dtype);
  call.check_tensors();
  if (has_no_elements(to.desc)) return;
  const TensorDescriptor& map = kForward ? *from.desc : *to.desc;
  SampledMaps maps{.B = map.dims[0],
                   .H = map.dims[1],
                   .W = map.dims[2],
                   .C = C,
                   .groups = R,
                   .bins = PH * PW,
                   .dtype = dtype,
                   .images = nullptr,
                   .divisors = nullptr,
                   .add_taps = add_taps,
                   .operands = nullptr};
  require_sampling_ratio("sampling_ratio", p.sampling_ratio);
  require_int32_count("the number of pixels of an image", saturated_product({maps.H, maps.W}));
  require(maps.B * maps.pixels() > 0, MLUOP_STATUS_BAD_PARAM, kForward ? "input" : "grad_input", " has ", maps.B,
          " images of ", maps.H, " x ", maps.W, " pixels, expected at least 1 of 1 x 1");

  Context& context = call.context();
  const auto prepare = [&](const Scratch& scratch) {
    maps.images = scratch.images;
    maps.divisors = scratch.divisors;
    prepare_rois<17>(context, {R, maps.B, dtype, rois.data}, scratch.images, [&](int64_t r, const float* numbers) {
      scratch.rois[r] = Roi(numbers, p);
      scratch.divisors[r] = sample_count(scratch.rois[r].y, scratch.rois[r].x);
    });
    return Operands{scratch.rois, PH, PW};
  };
  if constexpr (kForward) {
    Arena arena = context.reserve(bytes_of<Scratch>(R));
    const Operands operands = prepare(Scratch(arena, R));
    maps.operands = &operands;
    gather_samples(context, maps, from.data, to.data);
  } else {
    struct Memory : Scratch, ScatterMemory {
      Memory(Arena& arena, const SampledMaps& of, const ScatterPlan& plan)
          : Scratch(arena, of.groups), ScatterMemory(arena, of, plan) {}
    };
    const ScatterPlan plan(context, maps);
    Arena arena = context.reserve(bytes_of<Memory>(maps, plan));
    const Memory memory(arena, maps, plan);
    const Operands operands = prepare(memory);
    maps.operands = &operands;
    scatter_samples(context, maps, plan, memory, from.data, to.data);
  }
}

}  // namespace
}  // namespace mluop::bezier_align

mluOpStatus_t MLUOP_WIN_API mluOpOmpBezierAlignForward(mluOpHandle_t handle,
                                                       const mluOpTensorDescriptor_t input_desc, const void* input,
                                                       const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                       const int aligned_height, const int aligned_width,
                                                       const float spatial_scale, const int sampling_ratio,
                                                       const bool aligned,
                                                       const mluOpTensorDescriptor_t output_desc, void* output) {
  return mluop::run_operator("mluOpOmpBezierAlignForward", handle, [&](mluop::Call& call) {
    mluop::bezier_align::run<true>(call, {aligned_height, aligned_width, spatial_scale, sampling_ratio, aligned},
                                   {input_desc, input}, {rois_desc, rois}, {output_desc, output});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpBezierAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int aligned_height, const int aligned_width,
    const float spatial_scale, const int sampling_ratio, const bool aligned,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input) {
  return mluop::run_operator("mluOpOmpBezierAlignBackward", handle, [&](mluop::Call& call) {
    mluop::bezier_align::run<false>(call, {aligned_height, aligned_width, spatial_scale, sampling_ratio, aligned},
                                    {grad_output_desc, grad_output}, {rois_desc, rois},
                                    {grad_input_desc, grad_input});
  });
}
