// Generated sites of sparse tensors: rows of a batch and coordinates of both signs.
#pragma once

#include <algorithm>
#include <vector>

#include "case/description.h"

namespace mluop::cases {

// Layouts of sites.
enum SiteLayout : int64_t {
  kBox,      // random in a small box: many are equal
  kSurface,  // on the faces of a box, as scanned surfaces are; in any order; distinct if there are two axes
  kWide,     // anywhere within +-2^30
};
inline constexpr int64_t kMostAxes = 7;
inline const SizeRule kSiteLayout = {"layout", kBox, kBox, kWide, false};

// Sites [n, 1 + d], whose coordinates are multiples of `step`.
inline Tensor make_sites(const std::string& id, int64_t n, int64_t d, int64_t layout, int64_t step, int32_t seed) {
  checked_product({n, d + 1});
  Integers random(seed);
  // A surface has `side` cells along each axis of a face, and two faces for each axis.
  const auto faces_of = [&](int64_t side) {
    int64_t cells = 2 * d;
    for (int64_t axis = 1; axis < d && cells < n; ++axis) cells *= side;
    return cells;
  };
  int64_t side = 1;
  while (d > 1 && faces_of(side) < n) ++side;
  std::vector<int32_t> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(random.below(3) - 1);
    if (layout == kSurface) values.back() = 0;
    int64_t cell = i / std::max<int64_t>(2 * d, 1);
    const int64_t face = i % std::max<int64_t>(2 * d, 1);
    for (int64_t axis = 0; axis < d; ++axis) {
      int64_t coordinate = random.below(7) - 3;
      if (layout == kWide)
        coordinate = (int64_t{random.below(1 << 16)} * (1 << 15) + random.below(1 << 15) - (1 << 30)) / step;
      if (layout == kSurface) {
        const bool is_normal = axis == face / 2;
        coordinate = is_normal ? (face % 2 == 0 ? -side / 2 - 1 : side - side / 2) : cell % side - side / 2;
        if (!is_normal) cell /= side;
      }
      values.push_back(static_cast<int32_t>(coordinate * step));
    }
  }
  // Exchanges rows, so that they are in no order.
  for (int64_t left = n; layout == kSurface && left > 1; --left) {
    const int64_t other = random.below(left), columns = d + 1;
    std::swap_ranges(values.begin() + (left - 1) * columns, values.begin() + left * columns,
                     values.begin() + other * columns);
  }
  return with_values(make_tensor(id, MLUOP_DTYPE_INT32, {n, d + 1}), values);
}

}  // namespace mluop::cases
