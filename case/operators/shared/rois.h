// Generated RoIs over images: rows (image, x1, y1, x2, y2).
#pragma once

#include <algorithm>
#include <vector>

#include "case/description.h"

namespace mluop::cases {

// RoIs at multiples of 1/8 of a pixel, for the sizes b, h, w and r of the generator. Some extend past the image,
// or have no size or a negative one.
inline Tensor make_rois(const Recipe& r, float spatial_scale, bool keeps_in_image = false) {
  const Tensor rois = make_tensor("rois", r.dtype, {checked_product({r["r"], 5}) / 5, 5});
  Integers random(r.seed + 1);
  const auto eighths = [&](int64_t below) { return static_cast<float>(random.below(below)) / 8; };
  std::vector<float> values;
  for (int64_t i = 0; i < r["r"]; ++i) {
    values.push_back(static_cast<float>(random.below(r["b"])));
    float low[2], high[2];
    for (const int axis : {0, 1}) {
      const auto pixels = static_cast<float>(r[axis == 0 ? "w" : "h"]);
      low[axis] = eighths(static_cast<int64_t>(6 * pixels) + 16) - (keeps_in_image ? 0.0F : 2.0F);
      high[axis] =
          low[axis] + eighths(static_cast<int64_t>(4 * pixels) + 8) - (random.below(8) == 0 ? 2.0F : 0.0F);
    }
    for (const float each : {low[0], low[1], high[0], high[1]}) values.push_back(each / spatial_scale);
  }
  return with_numbers(rois, values);
}

// The tensors of images [B, H, W, C] and of bins [R, PH, PW, C] in NHWC, or the same in NCHW.
inline mluOpTensorLayout_t layout_of_maps(const Recipe& r) {
  return r["nchw"] != 0 ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_NHWC;
}
inline Dims dims_of_map(mluOpTensorLayout_t layout, int64_t count, int64_t height, int64_t width,
                        int64_t channels) {
  checked_product({count, height, width, channels}, int64_t{1} << 40);
  if (layout == MLUOP_LAYOUT_NCHW) return {count, channels, height, width};
  return {count, height, width, channels};
}

// The extents of a map, and the index of an element.
struct Map {
  explicit Map(const Operand& map)
      : channels_last(map.layout != MLUOP_LAYOUT_NCHW),
        count(map.dim(0)),
        height(map.dim(channels_last ? 1 : 2)),
        width(map.dim(channels_last ? 2 : 3)),
        channels(map.dim(channels_last ? 3 : 1)) {}
  int64_t at(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return channels_last ? ((n * height + y) * width + x) * channels + c
                         : ((n * channels + c) * height + y) * width + x;
  }

  bool channels_last;
  int64_t count, height, width, channels;
};

}  // namespace mluop::cases
