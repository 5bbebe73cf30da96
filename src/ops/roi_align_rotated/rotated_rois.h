// RoI align of rotated RoIs: what both operators of this folder share, from the rules to the launches.
//
// Letters: B images of C channels, H x W pixels; R RoIs of PH x PW bins.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/checks.h"
#include "primitives/sampling/roi_grid.h"
#include "primitives/sampling/rois.h"
#include "primitives/sampling/sampled_maps.h"
#include "team/operator_call.h"

namespace mluop::roi_align_rotated {

struct Parameters {
  int pooled_height, pooled_width;
  int sampling_ratio;  // <= 0: one sample per pixel of a bin along an axis, rounded up
  float spatial_scale;
  bool aligned, clockwise;
};

// The tensors of a call: maps [B, H, W, C], bins [R, PH, PW, C].
struct Tensors {
  const TensorDescriptor *maps, *rois, *bins;
  const void* roi_data;
};

// The memory of a call between its launches.
struct Scratch {
  Scratch(Arena& arena, int64_t R)
      : images(arena.take<int32_t>("images", {R})),
        divisors(arena.take<float>("divisors", {R})),
        angles(arena.take<float>("angles", {R})),
        grids(arena.take<RotatedGrid>("grids", {R})) {}

  int32_t* images;
  float* divisors;
  float* angles;  // as the caller passes them
  RotatedGrid* grids;
};

// The operands of add_taps() and of a mix of channels.
struct Operands {
  const Scratch& scratch;
  int64_t PW;
  int num_orientations;
};

inline void add_taps(const void* opaque, int64_t roi, int64_t bin, TapSink& to) {
  const auto& operands = *static_cast<const Operands*>(opaque);
  operands.scratch.grids[roi].for_each_sample(bin / operands.PW, bin % operands.PW, to.height, to.width,
                                              [&](float y, float x) { to.add_sample(y, x); });
}

// The numbers of a call, checked. `maps`: the name of the tensor. Images, divisors and operands are not set.
inline SampledMaps sizes_of(const char* maps, const Tensors& tensors, const Parameters& p) {
  const int64_t B = dim_of(tensors.maps, 0), H = dim_of(tensors.maps, 1), W = dim_of(tensors.maps, 2),
                C = dim_of(tensors.maps, 3), R = dim_of(tensors.rois, 0);
  require_int32_count("the number of pixels of an image", saturated_product({H, W}));
  require(R * C == 0 || B * H * W > 0, MLUOP_STATUS_BAD_PARAM, maps, " has ", B, " images of ", H, " x ", W,
          " pixels, expected at least 1 of 1 x 1");
  return {.B = B,
          .H = H,
          .W = W,
          .C = C,
          .groups = R,
          .bins = int64_t{p.pooled_height} * p.pooled_width,
          .dtype = dtype_of(tensors.maps),
          .images = nullptr,
          .divisors = nullptr,
          .add_taps = add_taps,
          .operands = nullptr};
}

// Prepares all RoIs. Throws Failure with BAD_PARAM if the image of a RoI does not exist.
inline void prepare(Context& context, const SampledMaps& maps, const Tensors& tensors, const Parameters& p,
                    const Scratch& to) {
  prepare_rois<6>(
      context, {maps.groups, maps.B, maps.dtype, tensors.roi_data}, to.images, [&](int64_t r, const float* roi) {
        const float scale = p.spatial_scale, offset = p.aligned ? 0.5F : 0.0F;
        // NaN remains NaN.
        const auto size = [&](float length) {
          const float scaled = length * scale;
          return !p.aligned && scaled < 1 ? 1.0F : scaled;
        };
        to.angles[r] = roi[5];
        to.grids[r] =
            RotatedGrid(roi[2] * scale - offset, roi[1] * scale - offset, size(roi[4]), size(roi[3]),
                        p.clockwise ? -roi[5] : roi[5], p.pooled_height, p.pooled_width, p.sampling_ratio);
        to.divisors[r] = to.grids[r].count;
      });
}

// Writes the bins.
inline void pool(Call& call, SampledMaps maps, const Tensors& tensors, const Parameters& p, int num_orientations,
                 const void* from, void* to) {
  if (maps.groups * maps.C == 0) return;
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<Scratch>(maps.groups));
  const Scratch scratch(arena, maps.groups);
  const Operands operands{scratch, p.pooled_width, num_orientations};
  maps.images = scratch.images;
  maps.divisors = scratch.divisors;
  maps.operands = &operands;
  prepare(context, maps, tensors, p, scratch);
  gather_samples(context, maps, from, to);
}

// Writes the gradients of the maps.
inline void pool_backward(Call& call, SampledMaps maps, const Tensors& tensors, const Parameters& p,
                          int num_orientations, const void* from, void* to) {
  if (maps.B * maps.pixels() * maps.C == 0) return;
  struct Memory : Scratch, ScatterMemory {
    Memory(Arena& arena, const SampledMaps& maps, const ScatterPlan& plan)
        : Scratch(arena, maps.groups), ScatterMemory(arena, maps, plan) {}
  };
  Context& context = call.context();
  const ScatterPlan plan(context, maps);
  Arena arena = context.reserve(bytes_of<Memory>(maps, plan));
  const Memory memory(arena, maps, plan);
  const Operands operands{memory, p.pooled_width, num_orientations};
  maps.images = memory.images;
  maps.divisors = memory.divisors;
  maps.operands = &operands;
  call.log_detail("taskDim ", plan.task_dim, ", ranges of ", plan.channels, " channels, bands of ", plan.rows,
                  " rows");
  prepare(context, maps, tensors, p, memory);
  scatter_samples(context, maps, plan, memory, from, to);
}

}  // namespace mluop::roi_align_rotated
