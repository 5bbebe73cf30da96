// RoI align: the positions of the samples of a bin, computed in fp32 as in mmcv. Used by the tables of RoIs, and
// by maxima, which return sample coordinates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/roi_align/roi_align.h"
#include "primitives/sampling/bilinear.h"
#include "primitives/sampling/roi_grid.h"

namespace mluop::roi_align {

// A RoI along an axis.
struct RoiAxis : GridAxis {
  RoiAxis(const Args& args, float low, float high, int64_t bin_count, int64_t pixel_count)
      : pixels(pixel_count), limit(static_cast<float>(pixel_count)) {
    const float offset = args.aligned ? 0.5F : 0.0F;
    start = low * args.spatial_scale - offset;
    size = high * args.spatial_scale - offset - start;
    // NaN remains NaN.
    if (!args.aligned && size < 1) size = 1;
    bin = size / static_cast<float>(bin_count);
    const float wanted = std::ceil(bin);
    if (args.sampling_ratio > 0) {
      samples = args.sampling_ratio;
    } else {
      samples = wanted >= 1 ? static_cast<int64_t>(std::min(wanted, kMaxSamples)) : 0;
    }
  }

  int64_t pixels;
  float limit;  // positions from -1 to `limit` lie on pixels
};

// The axes of a RoI. A RoI with a negative or NaN size has no samples.
struct Roi {
  template <class T>
  Roi(const Args& args, const T* box)
      : y(args, to_f32(box[2]), to_f32(box[4]), args.PH, args.H),
        x(args, to_f32(box[1]), to_f32(box[3]), args.PW, args.W) {
    if (y.size >= 0 && x.size >= 0) return;
    y.samples = x.samples = 0;
  }

  // The divisor of the mean.
  float divisor() const {
    return static_cast<float>(std::max<int64_t>(y.samples, 1)) *
           static_cast<float>(std::max<int64_t>(x.samples, 1));
  }

  RoiAxis y, x;
};

// The samples [first, last) of bin p whose positions lie on pixels. Positions ascend.
struct SampleRange {
  SampleRange(const RoiAxis& axis, int64_t p)
      : first(first_with(axis, [&](int64_t i) { return axis.position(p, i) >= -1; })),
        last(first_with(axis, [&](int64_t i) { return !(axis.position(p, i) <= axis.limit); })) {
    last = std::max(first, last);
  }

  int64_t first, last;

 private:
  template <class Holds>
  static int64_t first_with(const RoiAxis& axis, const Holds& holds) {
    int64_t low = 0, high = axis.samples;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (holds(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

}  // namespace mluop::roi_align
