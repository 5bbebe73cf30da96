// Precise RoI pooling: the arguments of its kernels, and the weights of RoIs.
//
// Letters: B images of C channels, H x W pixels; R RoIs of PH x PW bins. The mean of a bin is a weighted sum of
// pixels, whose weights are products of a row weight and a column weight: one table for each axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "mlu_op.h"

namespace mluop::prroi_pool {

// The bins of all RoIs along an axis.
struct AxisTable {
  // A bin of at most one pixel uses up to 3 pixels; the bins of a RoI share the others. Rounded bins may overlap.
  static int64_t capacity_of(int64_t bins, int64_t pixels) {
    return std::min(bins * pixels, 4 * bins + 2 * pixels);
  }
  AxisTable(Arena& arena, int64_t rois, int64_t bin_count, int64_t pixel_count)
      : bins(bin_count),
        pixels(pixel_count),
        capacity(capacity_of(bin_count, pixel_count)),
        edges(arena.take<float>("edges", {rois, bin_count, 2})),
        first(arena.take<int32_t>("first pixels", {rois, bin_count})),
        starts(arena.take<int32_t>("starts of weights", {rois, bin_count + 1})),
        weights(arena.take<float>("weights", {rois, capacity})) {}

  // A bin: its edges, and the weights of its pixels first, first + 1, ...
  struct Bin {
    float low, high;
    int64_t first, count;
    const float* weights;
  };
  Bin bin(int64_t roi, int64_t i) const {
    const int64_t at = roi * bins + i;
    const int32_t start = starts[roi * (bins + 1) + i];
    return {edges[2 * at], edges[2 * at + 1], first[at], starts[roi * (bins + 1) + i + 1] - start,
            weights + roi * capacity + start};
  }

  int64_t bins, pixels, capacity;
  float* edges;     // [rois, bins, 2]
  int32_t* first;   // [rois, bins]
  int32_t* starts;  // [rois, bins + 1]
  float* weights;   // [rois, capacity]
};

struct Tables {
  Tables(Arena& arena, int64_t R, int64_t PH, int64_t PW, int64_t H, int64_t W)
      : images(arena.take<int64_t>("images", {R})),
        areas(arena.take<float>("areas", {R})),
        y(arena, R, PH, H),
        x(arena, R, PW, W) {}

  int64_t* images;  // [R]
  float* areas;     // [R]: of a bin; 0: the RoI has no result
  AxisTable y, x;
};

struct Args {
  int64_t pixels() const { return H * W; }
  int64_t bins() const { return PH * PW; }

  int64_t B, C, H, W, R, PH, PW;
  float spatial_scale;
  mluOpDataType_t dtype;
  const void* rois;      // [R, 5]: image, x1, y1, x2, y2
  const Tables* tables;  // set by the launches
  int64_t range;         // channels of a work item
  float* rows;           // [taskDim, W, range]: a row of pixels, weighted along y
};

// For the forward operator: from = input [B, H, W, C], to = output [R, PH, PW, C]. For its gradient: from =
// grad_output, to = grad_input, and sums [taskDim, band_rows, W, range] for 16-bit types.
struct MapArgs : Args {
  int64_t bands() const { return ceil_div(H, band_rows); }

  const void* from;
  void* to;
  float* sums;
  int64_t band_rows = H;  // of a work item of the gradient
};

}  // namespace mluop::prroi_pool
