// The samples of the bins of a RoI: a grid in each bin, along the axes of the map or rotated. Positions are
// computed in fp32, as in mmcv; sample counts are 64-bit. Grids of many samples are clipped to those that may lie
// on the map, so that the cost of a RoI grows with the map, not with the RoI.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "team/split.h"

namespace mluop {

// A RoI along an axis.
struct GridAxis {
  static constexpr float kMaxSamples = 1 << 24;

  GridAxis() = default;
  // sampling_ratio: the samples of a bin; if it is not positive, one sample for each pixel of a bin, rounded up. A
  // size that is negative, infinite or NaN has no samples then.
  GridAxis(float first, float extent, int64_t bins, int64_t sampling_ratio)
      : start(first), size(extent), bin(extent / static_cast<float>(bins)), samples(sampling_ratio) {
    if (sampling_ratio > 0) return;
    const float wanted = std::ceil(bin);
    samples = wanted >= 1 && std::isfinite(wanted) ? static_cast<int64_t>(std::min(wanted, kMaxSamples)) : 0;
  }

  // The position of sample i of bin p.
  float position(int64_t p, int64_t i) const {
    const float within = (static_cast<float>(i) + 0.5F) * bin / static_cast<float>(samples);
    return start + static_cast<float>(p) * bin + within;
  }

  // A range of samples of bin p that includes all with positions in [low, high]. For positive sizes.
  Range samples_between(int64_t p, double low, double high) const {
    const double first = double{start} + static_cast<double>(p) * double{bin};
    const double step = double{bin} / static_cast<double>(samples);
    const auto limited = [this](double i) {
      return static_cast<int64_t>(std::clamp(i, 0.0, static_cast<double>(samples)));
    };
    const int64_t begin = limited(std::floor((low - first) / step) - 1);
    return {begin, std::max(begin, limited(std::ceil((high - first) / step) + 1))};
  }

  float start = 0, size = 0, bin = 0;
  int64_t samples = 0;
};

// Grids of at most this number of samples are not clipped.
inline constexpr int64_t kUnclippedSamples = 4096;

// The divisor of the mean of a bin.
inline float sample_count(const GridAxis& y, const GridAxis& x) {
  return static_cast<float>(std::max<int64_t>(y.samples * x.samples, 1));
}

// Calls add(y, x) for the samples of bin (p, q) of a RoI along the axes of a map of H x W pixels, row by row. May
// leave out samples beyond [-1, H] x [-1, W].
template <class Add>
void for_each_grid_sample(const GridAxis& y, const GridAxis& x, int64_t p, int64_t q, int64_t H, int64_t W,
                          const Add& add) {
  Range rows{0, y.samples}, columns{0, x.samples};
  if (y.samples * x.samples > kUnclippedSamples && y.bin > 0 && x.bin > 0) {
    const auto clip = [](const GridAxis& axis, int64_t bin, int64_t pixels) {
      const double slack = 1 + 1e-5 * (std::abs(axis.start) + std::abs(axis.size));
      return axis.samples_between(bin, -1 - slack, static_cast<double>(pixels) + slack);
    };
    rows = clip(y, p, H);
    columns = clip(x, q, W);
  }
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const float at_y = y.position(p, i);
    for (int64_t j = columns.begin; j < columns.end; ++j) add(at_y, x.position(q, j));
  }
}

// A RoI rotated about its center: position (v, u) of the RoI is (v cos - u sin + cy, v sin + u cos + cx) of the
// map.
struct RotatedGrid {
  RotatedGrid(float center_y, float center_x, float height, float width, float angle, int64_t PH, int64_t PW,
              int64_t sampling_ratio)
      : v(-height / 2, height, PH, sampling_ratio),
        u(-width / 2, width, PW, sampling_ratio),
        cos(static_cast<float>(std::cos(double{angle}))),
        sin(static_cast<float>(std::sin(double{angle}))),
        cy(center_y),
        cx(center_x),
        count(sample_count(v, u)),
        is_clipped(v.samples * u.samples > kUnclippedSamples) {
    // All positions are NaN or infinite: one sample has the value of all.
    if (is_clipped && !std::isfinite(cy + cx + cos)) v.samples = u.samples = 1;
    if (v.samples * u.samples == 0) v.samples = u.samples = 0;
  }

  // Calls add(y, x) for the samples of bin (p, q), row by row; may leave out samples beyond [-1, H] x [-1, W].
  template <class Add>
  void for_each_sample(int64_t p, int64_t q, int64_t H, int64_t W, const Add& add) const {
    const Range rows = is_clipped ? rows_on_map(p, H, W) : Range{0, v.samples};
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const float at_v = v.position(p, i), y = at_v * cos, x = at_v * sin;
      const Range columns = is_clipped ? columns_on_map(at_v, q, H, W) : Range{0, u.samples};
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const float at_u = u.position(q, j);
        add(y - at_u * sin + cy, x + at_u * cos + cx);
      }
    }
  }

  GridAxis v, u;
  float cos, sin, cy, cx;
  float count;  // the divisor of the mean of a bin
  bool is_clipped;

 private:
  // Bounds the error of fp32 positions.
  double slack() const { return 1 + 1e-5 * (std::abs(v.size) + std::abs(u.size) + std::abs(cy) + std::abs(cx)); }

  // The rows of a bin that may reach the map: v of the corners of the map.
  Range rows_on_map(int64_t p, int64_t H, int64_t W) const {
    const double y[] = {-1 - double{cy}, static_cast<double>(H) - double{cy}};
    const double x[] = {-1 - double{cx}, static_cast<double>(W) - double{cx}};
    const auto [low_y, high_y] = std::minmax({y[0] * cos, y[1] * cos});
    const auto [low_x, high_x] = std::minmax({x[0] * sin, x[1] * sin});
    return v.samples_between(p, low_y + low_x - slack(), high_y + high_x + slack());
  }

  // The samples of a row that may lie on the map.
  Range columns_on_map(float at_v, int64_t q, int64_t H, int64_t W) const {
    double low = u.start, high = -low;
    // Limits u so that offset + u slope is in [-1, pixels], up to the error of fp32.
    const auto limit = [&](double offset, double slope, int64_t pixels) {
      const double below = -1 - slack() - offset, above = static_cast<double>(pixels) + slack() - offset;
      if (std::abs(slope) < 1e-6) {
        if (below > 0 || above < 0) high = low - 1;
        return;
      }
      const auto [first, last] = std::minmax({below / slope, above / slope});
      low = std::max(low, first);
      high = std::min(high, last);
    };
    limit(double{at_v} * cos + cy, -double{sin}, H);
    limit(double{at_v} * sin + cx, cos, W);
    return low > high ? Range{0, 0} : u.samples_between(q, low, high);
  }
};

}  // namespace mluop
