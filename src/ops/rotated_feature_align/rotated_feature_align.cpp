// mluOpRotatedFeatureAlignForward and mluOpRotatedFeatureAlignBackward in one file: rules, samples, entries.
// Start with the entries at the end, then run() and add_taps(); primitives/sampling/sampled_maps.h has the sums
// and the gradients.
//
// Letters: B images of C channels, H x W pixels, each with a box.
#include <cmath>
#include <numeric>

#include "core/checks.h"
#include "mlu_op.h"
#include "primitives/sampling/sampled_maps.h"
#include "team/operator_call.h"

namespace mluop::rotated_feature_align {
namespace {

struct Parameters {
  float spatial_scale;
  int points;
};

struct Operands {
  int64_t pixels;
  Parameters parameters;
  mluOpDataType_t dtype;
  const void* bboxes;  // [B, H, W, 5]: y, x, width, height, angle
};

// The pixel itself, then the center of its box and, of five points, the corners.
void add_taps(const void* opaque, int64_t image, int64_t pixel, TapSink& to) {
  const auto& [pixels, p, dtype, bboxes] = *static_cast<const Operands*>(opaque);
  float box[5];
  dispatch_dtype(dtype, [&, first = (image * pixels + pixel) * 5, from = bboxes](auto element) {
    for (int i = 0; i < 5; ++i) box[i] = to_f32(static_cast<const decltype(element)*>(from)[first + i]);
  });
  to.add_pixel(pixel / to.width, pixel % to.width);
  const float y = box[0] * p.spatial_scale, x = box[1] * p.spatial_scale;
  to.add_sample(y, x);
  if (p.points == 1) return;
  const auto cos = static_cast<float>(std::cos(double{box[4]})),
             sin = static_cast<float>(std::sin(double{box[4]}));
  const float half_width = box[2] * p.spatial_scale / 2, half_height = box[3] * p.spatial_scale / 2;
  const float wx = cos * half_width, wy = sin * half_width, hx = -sin * half_height, hy = cos * half_height;
  to.add_sample(y + wy + hy, x + wx + hx);
  to.add_sample(y - wy + hy, x - wx + hx);
  to.add_sample(y - wy - hy, x - wx - hx);
  to.add_sample(y + wy - hy, x + wx - hx);
}

struct Memory : ScatterMemory {
  Memory(Arena& arena, const SampledMaps& maps, const ScatterPlan& plan)
      : ScatterMemory(arena, maps, plan), images(arena.take<int32_t>("images", {maps.B})) {}

  int32_t* images;
};

template <bool kForward>
void run(Call& call, const Parameters& p, const Input& from, const Input& bboxes, const Output& to) {
  const char *const from_name = kForward ? "input" : "top_output", *const to_name =
                                                                       kForward ? "output" : "bottom_input";
  const auto dtype = dtype_of(from.desc);
  const int64_t B = dim_of(from.desc, 0), H = dim_of(from.desc, 1), W = dim_of(from.desc, 2),
                C = dim_of(from.desc, 3);
  call.parameter("spatial_scale", p.spatial_scale);
  call.parameter("points", p.points);
  call.input(from_name, from.desc, from.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
  call.input("bboxes", bboxes.desc, bboxes.data, dtype, kAnyLayout, {B, H, W, 5});
  call.output(to_name, to.desc, to.data, dtype, MLUOP_LAYOUT_NHWC, {B, H, W, C});
  if (has_no_elements(to.desc)) call.reads_nothing();
  call.check_pointers();
  call.check_parameters();
  require(p.spatial_scale > 0, MLUOP_STATUS_BAD_PARAM, "spatial_scale is ", p.spatial_scale,
          ", expected a positive number");
  require(p.points == 1 || p.points == 5, MLUOP_STATUS_BAD_PARAM, "points is ", p.points, ", expected 1 or 5");
  require_element_type(from_name, dtype);
  call.check_tensors();
  require_int32_count("the number of pixels of an image", saturated_product({H, W}));
  if (B * H * W * C == 0) return;

  Context& context = call.context();
  const Operands operands{H * W, p, dtype, bboxes.data};
  SampledMaps maps{.B = B,
                   .H = H,
                   .W = W,
                   .C = C,
                   .groups = B,
                   .bins = H * W,
                   .dtype = dtype,
                   .images = nullptr,
                   .divisors = nullptr,
                   .add_taps = add_taps,
                   .operands = &operands};
  const ScatterPlan plan(context, maps);
  Arena arena = context.reserve(bytes_of<Memory>(maps, plan));
  const Memory memory(arena, maps, plan);
  std::iota(memory.images, memory.images + B, 0);
  maps.images = memory.images;
  if constexpr (kForward) {
    gather_samples(context, maps, from.data, to.data);
  } else {
    scatter_samples(context, maps, plan, memory, from.data, to.data);
  }
}

}  // namespace
}  // namespace mluop::rotated_feature_align

mluOpStatus_t MLUOP_WIN_API mluOpRotatedFeatureAlignForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t bboxes_desc, const void* bboxes, const float spatial_scale, const int points,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  return mluop::run_operator("mluOpRotatedFeatureAlignForward", handle, [&](mluop::Call& call) {
    mluop::rotated_feature_align::run<true>(call, {spatial_scale, points}, {input_desc, input},
                                            {bboxes_desc, bboxes}, {output_desc, output});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpRotatedFeatureAlignBackward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t top_output_desc, const void* top_output,
    const mluOpTensorDescriptor_t bboxes_desc, const void* bboxes, const float spatial_scale, const int points,
    const mluOpTensorDescriptor_t bottom_input_desc, void* bottom_input) {
  return mluop::run_operator("mluOpRotatedFeatureAlignBackward", handle, [&](mluop::Call& call) {
    mluop::rotated_feature_align::run<false>(call, {spatial_scale, points}, {top_output_desc, top_output},
                                             {bboxes_desc, bboxes}, {bottom_input_desc, bottom_input});
  });
}
