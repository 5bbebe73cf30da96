// mluOpDeformRoiPoolForward and mluOpDeformRoiPoolBackward in one file: rules, geometry, launches, entries.
// Start with the entries at the end, then forward() and backward(), which declare and launch; Rois has the samples
// of a bin, primitives/sampling/sampled_maps.h their means and gradients, add_slopes() the gradients of offsets.
//
// Letters: B maps of C channels, H x W pixels; R RoIs of PH x PW bins.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/deform_roi_pool/deform_roi_pool.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/checks.h"
#include "core/simd.h"
#include "mlu_op.h"
#include "primitives/sampling/bilinear.h"
#include "primitives/sampling/roi_grid.h"
#include "primitives/sampling/rois.h"
#include "primitives/sampling/sampled_maps.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/partial_sums-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

#ifndef MLUOP_DEFORM_ROI_POOL_ONCE
#define MLUOP_DEFORM_ROI_POOL_ONCE
namespace mluop::deform_roi_pool {

struct Parameters {
  int pooled_height, pooled_width;
  float spatial_scale;
  int sampling_ratio;
  float gamma;
};

struct Roi {
  GridAxis y, x;
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

struct Rois {
  // The RoI, moved by the offset of a bin.
  Roi moved(int64_t roi, int64_t bin) const {
    Roi of = scratch.rois[roi];
    if (offset == nullptr) return of;
    dispatch_dtype(dtype, [&](auto element) {
      const auto* const from = static_cast<const decltype(element)*>(offset) + roi * 2 * bins() + bin;
      of.x.start += gamma * of.x.size * to_f32(from[0]);
      of.y.start += gamma * of.y.size * to_f32(from[bins()]);
    });
    return of;
  }
  int64_t bins() const { return PH * PW; }

  // Calls add(y, x) for the samples of a bin.
  template <class Add>
  void for_each_sample(int64_t roi, int64_t bin, int64_t H, int64_t W, const Add& add) const {
    const Roi of = moved(roi, bin);
    for_each_grid_sample(of.y, of.x, bin / PW, bin % PW, H, W, add);
  }

  const Scratch& scratch;
  int64_t PH, PW;
  float gamma;
  mluOpDataType_t dtype;
  const void* offset;  // [R, 2, PH, PW], or null
};

struct SlopeArgs {
  const SampledMaps& maps;
  const Rois& rois;
  const void *grad_output, *input;
  void* grad_offset;
};

}  // namespace mluop::deform_roi_pool
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::deform_roi_pool {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPartialSumLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::PartialSumTag;

// The four pixels around a sample, and its distances to their rows and columns, which are not clamped.
template <class T>
struct Corners {
  Corners(const SampledMaps& maps, const T* map, float y, float x) {
    const Interpolation of_y(y, maps.H), of_x(x, maps.W);
    const auto pixel = [&](int64_t row, int64_t column) { return map + (row * maps.W + column) * maps.C; };
    v00 = pixel(of_y.low, of_x.low);
    v10 = pixel(of_y.low, of_x.high);
    v01 = pixel(of_y.high, of_x.low);
    v11 = pixel(of_y.high, of_x.high);
    below = y - static_cast<float>(of_y.low);
    above = static_cast<float>(of_y.high) - y;
    right = x - static_cast<float>(of_x.low);
    left = static_cast<float>(of_x.high) - x;
  }

  const T *v00, *v10, *v01, *v11;
  float below, above, right, left;
};

// along_x[0, kPartialSums) += the partial sums of grad times the slopes of the pixels along x; the same along y.
template <class T>
HWY_INLINE void add_slopes_of_sample(const T* grad, const Corners<T>& at, int64_t channels, float* along_x,
                                     float* along_y) {
  const auto add = [&](auto d, int64_t c, int64_t sum) HWY_ATTR {
    const auto g = load_f32(d, grad + c), v00 = load_f32(d, at.v00 + c), v10 = load_f32(d, at.v10 + c),
               v01 = load_f32(d, at.v01 + c), v11 = load_f32(d, at.v11 + c);
    const auto slope = [&](auto high, auto low, auto other_high, auto other_low, float of,
                           float of_other) HWY_ATTR {
      return hn::Mul(g, hn::Add(hn::Mul(hn::Sub(high, low), hn::Set(d, of)),
                                hn::Mul(hn::Sub(other_high, other_low), hn::Set(d, of_other))));
    };
    hn::StoreU(hn::Add(hn::LoadU(d, along_x + sum), slope(v11, v01, v10, v00, at.below, at.above)), d,
               along_x + sum);
    hn::StoreU(hn::Add(hn::LoadU(d, along_y + sum), slope(v11, v10, v01, v00, at.right, at.left)), d,
               along_y + sum);
  };
  const PartialSumTag d;
  int64_t c = 0;
  for (; c + kPartialSumLanes <= channels; c += kPartialSumLanes) add(d, c, c % kPartialSums);
  for (; c < channels; ++c) add(hn::CappedTag<float, 1>(), c, c % kPartialSums);
}

// Work items: bins. Writes the gradients of their offsets.
template <class T>
void add_slopes(const SlopeArgs& args, int64_t begin, int64_t end, Task&) {
  const SampledMaps& maps = args.maps;
  const Rois& rois = args.rois;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t roi = item / maps.bins, bin = item % maps.bins;
    const T* const grad = static_cast<const T*>(args.grad_output) + item * maps.C;
    const T* const map = static_cast<const T*>(args.input) + maps.images[roi] * maps.pixels() * maps.C;
    const Roi& of = rois.scratch.rois[roi];
    alignas(64) float along_x[kPartialSums] = {}, along_y[kPartialSums] = {};
    rois.for_each_sample(roi, bin, maps.H, maps.W, [&](float y, float x) {
      const bool is_inside =
          y >= -1 && y <= static_cast<float>(maps.H) && x >= -1 && x <= static_cast<float>(maps.W);
      if (is_inside) add_slopes_of_sample(grad, Corners<T>(maps, map, y, x), maps.C, along_x, along_y);
    });
    const double factor = double{rois.gamma} / double{maps.divisors[roi]};
    const auto total = [&](const float* sums, float size) {
      double sum = 0;
      for (int64_t i = 0; i < kPartialSums; ++i) sum += double{sums[i]};
      return static_cast<float>(factor * double{size} * sum);
    };
    T* const to = static_cast<T*>(args.grad_offset) + roi * 2 * maps.bins + bin;
    round_to(total(along_x, of.x.size), to);
    round_to(total(along_y, of.y.size), to + maps.bins);
  }
}

MLUOP_SELECT_BY_DTYPE(add_slopes, SlopeArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::deform_roi_pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::deform_roi_pool {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(slopes_kernel, add_slopes, SlopeArgs);

void add_taps(const void* opaque, int64_t roi, int64_t bin, TapSink& to) {
  static_cast<const Rois*>(opaque)->for_each_sample(roi, bin, to.height, to.width,
                                                    [&](float y, float x) { to.add_sample(y, x); });
}

// The checked sizes of a call; prepare() sets images and divisors.
SampledMaps sizes_of(const TensorDescriptor& map, int64_t R, const Parameters& p) {
  const int64_t B = map.dims[0], H = map.dims[1], W = map.dims[2], C = map.dims[3];
  const int64_t bins = int64_t{p.pooled_height} * p.pooled_width;
  require_sampling_ratio("sampling_ratio", p.sampling_ratio);
  require_int32_count("the number of pixels of an image", saturated_product({H, W}));
  require(R == 0 || bins == 0 || C == 0 || B * H * W > 0, MLUOP_STATUS_BAD_PARAM, "input has ", B, " images of ",
          H, " x ", W, " pixels, expected at least 1 of 1 x 1");
  return {.B = B,
          .H = H,
          .W = W,
          .C = C,
          .groups = R,
          .bins = bins,
          .dtype = map.dtype,
          .images = nullptr,
          .divisors = nullptr,
          .add_taps = add_taps,
          .operands = nullptr,
          .divides_first = true};
}

Rois prepare(Context& context, SampledMaps& maps, const Parameters& p, const void* rois, const void* offset,
             const Scratch& to) {
  maps.images = to.images;
  maps.divisors = to.divisors;
  prepare_rois<5>(context, {maps.groups, maps.B, maps.dtype, rois}, to.images, [&](int64_t r, const float* roi) {
    const auto axis = [&](float low, float high, int bins) {
      const float start = low * p.spatial_scale - 0.5F;
      return GridAxis(start, high * p.spatial_scale - 0.5F - start, bins, p.sampling_ratio);
    };
    to.rois[r] = {axis(roi[2], roi[4], p.pooled_height), axis(roi[1], roi[3], p.pooled_width)};
    to.divisors[r] = sample_count(to.rois[r].y, to.rois[r].x);
  });
  return {to, p.pooled_height, p.pooled_width, p.gamma, maps.dtype, offset};
}

void declare_parameters(Call& call, const Parameters& p) {
  call.parameter("pooled_height", p.pooled_height, AtLeast{0});
  call.parameter("pooled_width", p.pooled_width, AtLeast{0});
  call.parameter("spatial_scale", p.spatial_scale);
  call.parameter("sampling_ratio", p.sampling_ratio);
  call.parameter("gamma", p.gamma);
}

void forward(Call& call, const Parameters& p, const Input& input, const Input& rois, const Input& offset,
             const Output& output) {
  const auto dtype = dtype_of(input.desc);
  const int64_t R = dim_of(rois.desc, 0), PH = p.pooled_height, PW = p.pooled_width;
  declare_parameters(call, p);
  call.input("input", input.desc, input.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
  call.input("rois", rois.desc, rois.data, dtype, kAnyLayout, {kAny, 5});
  const void* const offsets = call.optional_input("offset", offset, dtype, kAnyLayout, {R, 2, PH, PW});
  call.output("output", output.desc, output.data, dtype, MLUOP_LAYOUT_NHWC, {R, PH, PW, dim_of(input.desc, 3)});
  if (has_no_elements(output.desc)) call.reads_nothing();

  call.check_pointers();
  call.check_parameters();
  require_element_type("input", dtype);
  call.check_tensors();
  if (has_no_elements(output.desc)) return;
  SampledMaps maps = sizes_of(*input.desc, R, p);
  Arena arena = call.context().reserve(bytes_of<Scratch>(R));
  const Scratch scratch(arena, R);
  const Rois operands = prepare(call.context(), maps, p, rois.data, offsets, scratch);
  maps.operands = &operands;
  gather_samples(call.context(), maps, input.data, output.data);
}

void backward(Call& call, const Parameters& p, const Input& grad_output, const Input& input, const Input& rois,
              const Input& offset, const Output& grad_input, const Output& grad_offset) {
  const auto dtype = dtype_of(grad_output.desc);
  const int64_t R = dim_of(rois.desc, 0), PH = p.pooled_height, PW = p.pooled_width, C = dim_of(input.desc, 3);
  const int64_t B = dim_of(input.desc, 0), H = dim_of(input.desc, 1), W = dim_of(input.desc, 2);
  declare_parameters(call, p);
  call.input("grad_output", grad_output.desc, grad_output.data, dtype, MLUOP_LAYOUT_NHWC, {R, PH, PW, C});
  call.input("input", input.desc, input.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
  call.input("rois", rois.desc, rois.data, dtype, kAnyLayout, {kAny, 5});
  const void* const offsets = call.optional_input("offset", offset, dtype, kAnyLayout, {R, 2, PH, PW});
  call.output("grad_input", grad_input.desc, grad_input.data, dtype, MLUOP_LAYOUT_NHWC, {B, H, W, C});
  void* const of_offsets = call.optional_output("grad_offset", grad_offset, dtype, kAnyLayout, {R, 2, PH, PW});
  const auto elements = [](const Output& output) {
    return output.desc == nullptr ? 0 : element_count(*output.desc);
  };
  const bool is_empty = std::max(elements(grad_input), elements(grad_offset)) == 0;
  if (is_empty) call.reads_nothing();

  call.check_pointers();
  call.check_parameters();
  require(offset.is_missing() == grad_offset.is_missing(), MLUOP_STATUS_BAD_PARAM,
          offset.is_missing() ? "offset" : "grad_offset",
          " is null, expected both offset and grad_offset, or none");
  require_element_type("grad_output", dtype);
  call.check_tensors();
  if (is_empty) return;
  SampledMaps maps = sizes_of(*input.desc, R, p);
  if (has_no_elements(grad_input.desc)) {
    std::memset(of_offsets, 0, static_cast<size_t>(byte_count(*grad_offset.desc)));
    return;
  }
  struct Memory : Scratch, ScatterMemory {
    Memory(Arena& arena, const SampledMaps& of, const ScatterPlan& plan)
        : Scratch(arena, of.groups), ScatterMemory(arena, of, plan) {}
  };
  Context& context = call.context();
  const ScatterPlan plan(context, maps);
  Arena arena = context.reserve(bytes_of<Memory>(maps, plan));
  const Memory memory(arena, maps, plan);
  const Rois operands = prepare(context, maps, p, rois.data, offsets, memory);
  maps.operands = &operands;
  scatter_samples(context, maps, plan, memory, grad_output.data, grad_input.data);
  if (of_offsets == nullptr) return;
  const int64_t bins = maps.outputs();
  launch<SlopeArgs>(context, "slopes", choose_task_dim(bins, saturated_product({bins, 16 * C})), Evenly{bins},
                    slopes_kernel(dtype), {maps, operands, grad_output.data, input.data, of_offsets});
}

}  // namespace
}  // namespace mluop::deform_roi_pool

mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t offset_desc,
    const void* offset, const int pooled_height, const int pooled_width, const float spatial_scale,
    const int sampling_ratio, const float gamma, const mluOpTensorDescriptor_t output_desc, void* output) {
  return mluop::run_operator("mluOpDeformRoiPoolForward", handle, [&](mluop::Call& call) {
    mluop::deform_roi_pool::forward(call, {pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma},
                                    {input_desc, input}, {rois_desc, rois}, {offset_desc, offset},
                                    {output_desc, output});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolBackward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t rois_desc,
    const void* rois, const mluOpTensorDescriptor_t offset_desc, const void* offset, const int pooled_height,
    const int pooled_width, const float spatial_scale, const int sampling_ratio, const float gamma,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void* grad_offset) {
  return mluop::run_operator("mluOpDeformRoiPoolBackward", handle, [&](mluop::Call& call) {
    mluop::deform_roi_pool::backward(call, {pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma},
                                     {grad_output_desc, grad_output}, {input_desc, input}, {rois_desc, rois},
                                     {offset_desc, offset}, {grad_input_desc, grad_input},
                                     {grad_offset_desc, grad_offset});
  });
}
#endif
