#include "support/dense_convolution.h"

#include <algorithm>

namespace mluop::reference {
namespace {

using test::Site;

template <class Body>
void for_each_site(const Site& grid, const Body& body) {
  Site site;
  for (site[0] = 0; site[0] < grid[0]; ++site[0]) {
    for (site[1] = 0; site[1] < grid[1]; ++site[1]) {
      for (site[2] = 0; site[2] < grid[2]; ++site[2]) {
        for (site[3] = 0; site[3] < grid[3]; ++site[3]) body(site);
      }
    }
  }
}

}  // namespace

size_t dense_index(const Site& grid, const Site& site, int channels) {
  size_t cell = 0;
  for (size_t axis = 0; axis < site.size(); ++axis) {
    cell = cell * static_cast<size_t>(grid[axis]) + static_cast<size_t>(site[axis]);
  }
  return cell * static_cast<size_t>(channels);
}

std::vector<double> dense_convolution(const Site& grid, const test::SparseConvolution& convolution, int Ci, int Co,
                                      const std::vector<double>& input, const std::vector<double>& filters) {
  const Site outputs_on = test::output_grid(grid, convolution);
  const test::Extent& kernel = convolution.kernel;
  const Site elements = {1, kernel[0], kernel[1], kernel[2]};
  std::vector<double> output;
  for_each_site(outputs_on, [&](const Site& out) {
    for (int co = 0; co < Co; ++co) {
      double sum = 0;
      for_each_site(elements, [&](const Site& element) {
        Site in = out;
        for (size_t axis = 0; axis < 3; ++axis) {
          in[axis + 1] = out[axis + 1] * convolution.stride[axis] - convolution.padding[axis] +
                         element[axis + 1] * convolution.dilation[axis];
          if (in[axis + 1] < 0 || in[axis + 1] >= grid[axis + 1]) return;
        }
        const double* feature = input.data() + dense_index(grid, in, Ci);
        const double* weight = filters.data() + dense_index({Co, kernel[0], kernel[1], kernel[2]},
                                                            {co, element[1], element[2], element[3]}, Ci);
        for (int ci = 0; ci < Ci; ++ci) sum += feature[ci] * weight[ci];
      });
      output.push_back(sum);
    }
  });
  return output;
}

std::vector<float> dense_convolution_rows(const Site& grid, const std::vector<Site>& sites,
                                          const test::SparseConvolution& convolution,
                                          const std::vector<Site>& outputs, const std::vector<float>& features,
                                          const std::vector<float>& filters) {
  const auto Ci = static_cast<int>(features.size() / sites.size());
  const int Co = static_cast<int>(filters.size()) / Ci / convolution.offsets();
  std::vector<double> dense(dense_index(grid, {grid[0], 0, 0, 0}, Ci));
  for (size_t i = 0; i < sites.size(); ++i) {
    std::copy_n(features.begin() + static_cast<int64_t>(i) * Ci, Ci,
                dense.begin() + static_cast<int64_t>(dense_index(grid, sites[i], Ci)));
  }
  const auto result = dense_convolution(grid, convolution, Ci, Co, dense, {filters.begin(), filters.end()});
  std::vector<float> rows;
  for (const Site& site : outputs) {
    const size_t place = dense_index(test::output_grid(grid, convolution), site, Co);
    for (size_t co = 0; co < static_cast<size_t>(Co); ++co) rows.push_back(static_cast<float>(result[place + co]));
  }
  return rows;
}

}  // namespace mluop::reference
