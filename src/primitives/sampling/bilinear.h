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

// A weighted sum of up to four pixels of a map: of a square of 2 x 2 pixels, or pixel 0 with a weight of NaN.
struct Tap {
  static constexpr int32_t kSide = 8;

  // The pixel is in row `down`, column `right` of the square.
  void add(int64_t pixel, float weight, int64_t down, int64_t right) {
    pixels[count] = static_cast<int32_t>(pixel);
    corners[count] = static_cast<int32_t>(kSide * down + right);
    weights[count++] = weight;
  }

  int32_t count = 0;
  int32_t row, column;  // of the square, which may extend past the map
  int32_t pixels[4];    // y W + x
  int32_t corners[4];   // in a box of rows of kSide pixels that starts with the square
  float weights[4];
};

// The pixel itself.
inline Tap pixel_tap(int64_t row, int64_t column, int64_t W) {
  Tap tap;
  tap.row = static_cast<int32_t>(row);
  tap.column = static_cast<int32_t>(column);
  tap.add(row * W + column, 1, 0, 0);
  return tap;
}

// The tap of a sample at (y, x) of a non-empty map. Four pixels: low row before high row, low column before high
// column. A sample is outside, and has no pixels, if y is not in [-1, H] or x is not in [-1, W]. With a NaN
// coordinate and no coordinate outside, the tap is pixel 0 with a weight of NaN.
inline Tap clamped_tap(float y, float x, int64_t H, int64_t W) {
  Tap tap;
  if (y < -1 || y > static_cast<float>(H) || x < -1 || x > static_cast<float>(W)) return tap;
  if (std::isnan(y) || std::isnan(x)) {
    tap.row = tap.column = 0;
    tap.add(0, y + x, 0, 0);
    return tap;
  }
  const Interpolation of_y(y, H), of_x(x, W);
  tap.row = static_cast<int32_t>(of_y.low);
  tap.column = static_cast<int32_t>(of_x.low);
  const int64_t down = of_y.high - of_y.low, right = of_x.high - of_x.low;
  tap.add(of_y.low * W + of_x.low, of_y.of_low * of_x.of_low, 0, 0);
  tap.add(of_y.low * W + of_x.high, of_y.of_low * of_x.of_high, 0, right);
  tap.add(of_y.high * W + of_x.low, of_y.of_high * of_x.of_low, down, 0);
  tap.add(of_y.high * W + of_x.high, of_y.of_high * of_x.of_high, down, right);
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
  tap.row = static_cast<int32_t>(low_y);
  tap.column = static_cast<int32_t>(low_x);
  const auto add = [&](int64_t down, int64_t right, float weight) {
    const int64_t row = low_y + down, column = low_x + right;
    if (row >= 0 && row < H && column >= 0 && column < W) tap.add(row * W + column, weight, down, right);
  };
  add(0, 0, (1 - of_y) * (1 - of_x));
  add(0, 1, (1 - of_y) * of_x);
  add(1, 0, of_y * (1 - of_x));
  add(1, 1, of_y * of_x);
  return tap;
}

}  // namespace mluop
