// The operators of the step to bird's-eye view in double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "networks/bev_depth.h"

namespace mluop::test::bev_depth {

struct Reference {
  using Float = double;

  // Writes the cells of the points to `memo`.
  Matrix<double> pool(const Sizes& sizes, const std::vector<Cell>& cells, const Matrix<double>& features,
                      Values<Cell>& memo) const {
    auto output = zeros<double>(sizes.output_rows(), sizes.channels);
    memo.clear();
    for (int64_t p = 0; p < features.rows; ++p) {
      const auto [x, y, z] = cells[static_cast<size_t>(p)];
      const bool inside =
          x >= 0 && x < sizes.cells_x && y >= 0 && y < sizes.cells_y && z >= 0 && z < sizes.cells_z;
      memo.push_back(inside ? Cell{static_cast<int32_t>(p / sizes.points()), y, x} : Cell{-1, -1, -1});
      if (!inside) continue;
      for (int64_t c = 0; c < sizes.channels; ++c) output[row_of(sizes, memo.back())][c] += features[p][c];
    }
    return output;
  }

  Matrix<double> pool_grad(const Sizes& sizes, const Values<Cell>& memo, const Matrix<double>& grad) const {
    auto features = zeros<double>(static_cast<int64_t>(memo.size()), sizes.channels);
    for (int64_t p = 0; p < features.rows; ++p) {
      const Cell& cell = memo[static_cast<size_t>(p)];
      if (cell[0] >= 0) std::copy_n(grad[row_of(sizes, cell)], sizes.channels, features[p]);
    }
    return features;
  }

  static int64_t row_of(const Sizes& sizes, const Cell& memo) {
    return (int64_t{memo[0]} * sizes.cells_y + memo[1]) * sizes.cells_x + memo[2];
  }
};

}  // namespace mluop::test::bev_depth
