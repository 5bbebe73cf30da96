// Samples of maps, interpolated from the four pixels around a position that is clamped to the map, for oracles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mluop::reference {

// The samples of a bin along an axis: sample i of bin p is at start + p bin + (i + 0.5) bin / samples, in fp32.
struct SampleAxis {
  SampleAxis(float first, float extent, int64_t bins, int ratio)
      : start(first), size(extent), bin(extent / static_cast<float>(bins)), samples(ratio) {
    if (ratio > 0) return;
    const float wanted = std::ceil(bin);
    samples = wanted >= 1 && std::isfinite(wanted) ? static_cast<int>(std::min(wanted, 16777216.0F)) : 0;
  }
  float position(int64_t p, int i) const {
    return start + static_cast<float>(p) * bin +
           (static_cast<float>(i) + 0.5F) * bin / static_cast<float>(samples);
  }

  float start, size, bin;
  int samples;
};

inline bool is_outside(float position, int64_t pixels) {
  return position < -1 || position > static_cast<float>(pixels);
}

// Calls visit(position) for the samples of an axis in bin p that are not outside the map. Positions ascend if
// there are many.
template <class Visit>
void for_each_position(const SampleAxis& axis, int64_t p, int64_t pixels, const Visit& visit) {
  constexpr int kMany = 64;
  int first = 0;
  if (axis.samples > kMany) {
    for (int step = axis.samples; step > 0; step /= 2) {
      while (first + step < axis.samples && axis.position(p, first + step) < -1) first += step;
    }
  }
  for (int i = first; i < axis.samples; ++i) {
    const float position = axis.position(p, i);
    if (std::isnan(position)) return visit(position);
    if (axis.samples > kMany && position > static_cast<float>(pixels)) return;
    if (!is_outside(position, pixels)) visit(position);
  }
}

// Calls visit(pixel, weight) for the four pixels of a sample of a map of H x W pixels; weights are double. A NaN
// position is pixel 0 with a weight of NaN.
template <class Visit>
void for_each_pixel(float y, float x, int64_t H, int64_t W, const Visit& visit) {
  if (std::isnan(y) || std::isnan(x)) return visit(int64_t{0}, double{NAN});
  const auto clamped = [](float position, int64_t pixels) {
    return std::min(std::max(double{position}, 0.0), static_cast<double>(pixels - 1));
  };
  const double at_y = clamped(y, H), at_x = clamped(x, W);
  const auto low_y = static_cast<int64_t>(at_y), low_x = static_cast<int64_t>(at_x);
  const double of_y = at_y - static_cast<double>(low_y), of_x = at_x - static_cast<double>(low_x);
  const int64_t high_y = std::min(low_y + 1, H - 1), high_x = std::min(low_x + 1, W - 1);
  visit(low_y * W + low_x, (1 - of_y) * (1 - of_x));
  visit(low_y * W + high_x, (1 - of_y) * of_x);
  visit(high_y * W + low_x, of_y * (1 - of_x));
  visit(high_y * W + high_x, of_y * of_x);
}

}  // namespace mluop::reference
