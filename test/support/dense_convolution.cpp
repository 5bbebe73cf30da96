#include "support/dense_convolution.h"

#include <algorithm>
#include <numeric>

namespace mluop::reference {

using test::Site;

std::vector<float> dense_convolution_rows(const Site& grid, const std::vector<Site>& sites,
                                          const test::SparseConvolution& convolution,
                                          const std::vector<Site>& outputs, const std::vector<float>& features,
                                          const std::vector<float>& filters) {
  const auto Ci = static_cast<int64_t>(features.size() / sites.size());
  std::vector<double> dense(static_cast<size_t>(int64_t{grid[0]} * grid[1] * grid[2] * grid[3] * Ci));
  // The channels of a site.
  const auto at = [&](const Site& site) {
    const int32_t row = ((site[0] * grid[1] + site[1]) * grid[2] + site[2]) * grid[3] + site[3];
    return dense.begin() + row * Ci;
  };
  auto feature = features.begin();
  for (const Site& site : sites) {
    std::copy_n(feature, Ci, at(site));
    feature += Ci;
  }

  const auto& [kernel, stride, padding, dilation, submanifold] = convolution;
  std::vector<float> rows;
  for (const Site& output : outputs) {
    for (auto filter = filters.begin(); filter != filters.end(); filter += convolution.offsets() * Ci) {
      double sum = 0;
      for (int32_t k = 0; k < convolution.offsets(); ++k) {
        const test::Extent offset = {k / (kernel[1] * kernel[2]), k / kernel[2] % kernel[1], k % kernel[2]};
        Site input = output;
        bool is_inside = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          const int32_t place = output[axis + 1] * stride[axis] - padding[axis] + offset[axis] * dilation[axis];
          input[axis + 1] = place;
          is_inside = is_inside && 0 <= place && place < grid[axis + 1];
        }
        if (is_inside) sum = std::inner_product(at(input), at(input) + Ci, filter + k * Ci, sum);
      }
      rows.push_back(static_cast<float>(sum));
    }
  }
  return rows;
}

}  // namespace mluop::reference
