// The operators of the dynamic voxel feature encoder in double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "networks/mvx_net.h"

namespace mluop::test::mvx_net {

struct Reference {
  using Float = double;

  Scatter<double> scatter(mluOpReduceMode_t mode, const Matrix<double>& features,
                          const std::vector<Voxel>& voxels) const {
    std::map<Voxel, std::vector<int64_t>> points_of;
    for (int64_t n = 0; n < features.rows; ++n) {
      const Voxel& voxel = voxels[static_cast<size_t>(n)];
      if (*std::min_element(voxel.begin(), voxel.end()) >= 0) points_of[voxel].push_back(n);
    }
    Scatter<double> result{{static_cast<int64_t>(points_of.size()), features.columns},
                           {},
                           Values<int32_t>(static_cast<size_t>(features.rows), -1),
                           {}};
    for (const auto& [voxel, points] : points_of) {
      const auto v = static_cast<int64_t>(result.voxels.size());
      for (int64_t c = 0; c < features.columns; ++c) {
        double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
        for (const int64_t n : points) {
          maximum = std::max(maximum, features[n][c]);
          sum += features[n][c];
        }
        if (mode == MLUOP_REDUCE_DMEAN) sum /= static_cast<double>(points.size());
        result.features[v][c] = mode == MLUOP_REDUCE_DMAX ? maximum : sum;
      }
      for (const int64_t n : points) result.voxel_of[static_cast<size_t>(n)] = static_cast<int32_t>(v);
      result.voxels.push_back(voxel);
      result.counts.push_back(static_cast<int32_t>(points.size()));
    }
    return result;
  }

  Matrix<double> scatter_grad(mluOpReduceMode_t mode, const Matrix<double>& features,
                              const Scatter<double>& scattered, Matrix<double> grad) const {
    auto result = zeros<double>(features.rows, features.columns);
    for (int64_t n = 0; n < features.rows; ++n) {
      const int32_t v = scattered.voxel_of[static_cast<size_t>(n)];
      if (v < 0) continue;
      for (int64_t c = 0; c < features.columns; ++c) {
        if (mode == MLUOP_REDUCE_DMEAN) {
          result[n][c] = grad[v][c] / scattered.counts[static_cast<size_t>(v)];
        } else if (features[n][c] == scattered.features[v][c]) {
          result[n][c] = std::exchange(grad[v][c], 0);  // the first maximum
        }
      }
    }
    return result;
  }
};

}  // namespace mluop::test::mvx_net
