// Bilinear samples of a map of H x W pixels: the pixels that a position is interpolated from, and their weights,
// computed in fp32.
#pragma once

#include <cmath>
#include <cstdint>

namespace mluop {

// The two pixels from which a position in [-1, pixels] is interpolated, and their weights. Positions are clamped
// to the first and the last pixel.
struct Interpolation {
  Interpolation(float position, int64_t pixels) {
    const float inside = position <= 0 ? 0 : position;
    low = static_cast<int64_t>(inside);
    if (low >= pixels - 1) {
      low = high = pixels - 1;
      of_high = 0;
    } else {
      high = low + 1;
      of_high = inside - static_cast<float>(low);
    }
    of_low = 1 - of_high;
  }

  int64_t low, high;
  float of_low, of_high;
};

// A weighted sum of up to four pixels of a map.
struct Tap {
  void add(int64_t pixel, float weight) {
    pixels[count] = static_cast<int32_t>(pixel);
    weights[count++] = weight;
  }

  int32_t count = 0;
  int32_t pixels[4];  // y W + x
  float weights[4];
};

// The tap of a sample at (y, x) of a non-empty map. Four pixels: low row before high row, low column before high
// column. A sample is outside, and has no pixels, if y is not in [-1, H] or x is not in [-1, W]. With a NaN
// coordinate and no coordinate outside, the tap is pixel 0 with a weight of NaN.
inline Tap clamped_tap(float y, float x, int64_t H, int64_t W) {
  Tap tap;
  if (y < -1 || y > static_cast<float>(H) || x < -1 || x > static_cast<float>(W)) return tap;
  if (std::isnan(y) || std::isnan(x)) {
    tap.add(0, y + x);
    return tap;
  }
  const Interpolation of_y(y, H), of_x(x, W);
  tap.add(of_y.low * W + of_x.low, of_y.of_low * of_x.of_low);
  tap.add(of_y.low * W + of_x.high, of_y.of_low * of_x.of_high);
  tap.add(of_y.high * W + of_x.low, of_y.of_high * of_x.of_low);
  tap.add(of_y.high * W + of_x.high, of_y.of_high * of_x.of_high);
  return tap;
}

// The same, where pixels beyond the map are 0: the tap has only the pixels of the map. Without pixels if a
// coordinate is NaN or infinite.
inline Tap zero_padded_tap(float y, float x, int64_t H, int64_t W) {
  Tap tap;
  if (!(y > -1 && y < static_cast<float>(H) && x > -1 && x < static_cast<float>(W))) return tap;
  const float floor_y = std::floor(y), floor_x = std::floor(x);
  const auto low_y = static_cast<int64_t>(floor_y), low_x = static_cast<int64_t>(floor_x);
  const float of_y = y - floor_y, of_x = x - floor_x;
  const auto add = [&](int64_t row, int64_t column, float weight) {
    if (row >= 0 && row < H && column >= 0 && column < W) tap.add(row * W + column, weight);
  };
  add(low_y, low_x, (1 - of_y) * (1 - of_x));
  add(low_y, low_x + 1, (1 - of_y) * of_x);
  add(low_y + 1, low_x, of_y * (1 - of_x));
  add(low_y + 1, low_x + 1, of_y * of_x);
  return tap;
}

}  // namespace mluop
