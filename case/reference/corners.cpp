#include "reference/corners.h"

#include <array>
#include <cmath>
#include <map>

namespace mluop::reference {
namespace {

using Row = std::array<double, 8>;  // the columns of a site or corner, then zeros

bool is_int32(double number) { return number >= -0x1p31 && number < 0x1p31; }

}  // namespace

void corners(const CornerSizes& sizes, const float* points, const int32_t* sites, const int32_t* strides,
             int32_t* corners, float* weights) {
  const auto axes = static_cast<size_t>(sizes.D);
  std::map<Row, int32_t> first_rows;
  for (int64_t m = 0; m < sizes.M; ++m) {
    Row row{};
    for (size_t c = 0; c <= axes; ++c) row[c] = *sites++;
    first_rows.emplace(row, static_cast<int32_t>(m));
  }
  for (int64_t n = 0; n < sizes.N; ++n, points += axes + 1) {
    bool has_corners = is_int32(std::nearbyint(points[0]));
    for (size_t d = 0; d < axes; ++d) {
      const double stride = strides[d], low = std::floor(points[d + 1] / stride) * stride;
      has_corners = has_corners && is_int32(low) && is_int32(low + stride);
    }
    for (size_t j = 0; j < size_t{1} << axes; ++j) {
      Row corner{std::nearbyint(points[0])};
      double weight = 1;
      for (size_t d = 0; d < axes; ++d) {
        const double stride = strides[d], p = points[d + 1];
        const bool is_upper = (j >> (axes - 1 - d) & 1) != 0;
        corner[d + 1] = std::floor(p / stride) * stride + (is_upper ? stride : 0);
        weight *= 1 - std::abs(p - corner[d + 1]) / stride;
      }
      const auto site = has_corners ? first_rows.find(corner) : first_rows.end();
      *corners++ = site == first_rows.end() ? -1 : site->second;
      *weights++ = has_corners ? static_cast<float>(weight) : 0;
    }
  }
}

}  // namespace mluop::reference
