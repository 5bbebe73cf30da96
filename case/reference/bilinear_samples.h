// Bilinear samples, for oracles: positions and weights are fp32, as the definitions state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mluop::reference {

// Calls visit(pixel, weight) for the four pixels y W + x that the sample at (y, x) of H x W pixels is interpolated
// from, in their order; none if y is not in [-1, H] or x is not in [-1, W]; pixel 0 with the weight NaN if a
// coordinate is NaN.
template <class Visit>
void for_each_corner(float y, float x, int64_t H, int64_t W, const Visit& visit) {
  if (y < -1 || y > static_cast<float>(H) || x < -1 || x > static_cast<float>(W)) return;
  if (std::isnan(y + x)) return visit(int64_t{0}, y + x);
  int64_t at[2][2];
  float of[2][2];
  const float positions[] = {y, x};
  const int64_t extents[] = {H, W};
  for (const int axis : {0, 1}) {
    const float position = std::max(positions[axis], 0.0F);
    const int64_t last = extents[axis] - 1;
    at[axis][0] = std::min(static_cast<int64_t>(position), last);
    at[axis][1] = std::min(at[axis][0] + 1, last);
    of[axis][1] = at[axis][0] == last ? 0 : position - static_cast<float>(at[axis][0]);
    of[axis][0] = 1 - of[axis][1];
  }
  for (const int i : {0, 1}) {
    for (const int j : {0, 1}) visit(at[0][i] * W + at[1][j], of[0][i] * of[1][j]);
  }
}

}  // namespace mluop::reference
