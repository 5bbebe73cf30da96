// The step from camera to bird's-eye view of BEVDepth: features of pixels, weighted by a distribution of depths,
// are pooled into cells of a grid, forward and backward.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "networks/dense_layers.h"
#include "networks/operators.h"
#include "networks/tensor.h"

namespace mluop::test::bev_depth {

// Partial sums of a row, which compilers add as vectors. Divides the number of channels.
inline constexpr int64_t kLanes = 8;

// The points of a batch are in BEVDepth's order: camera, depth, pixel.
struct Sizes {
  int32_t batches, cameras, depths, pixels, channels;
  int32_t cells_x, cells_y, cells_z;

  int32_t points() const { return cameras * depths * pixels; }  // of a batch
  int64_t images() const { return int64_t{batches} * cameras; }
  int64_t output_rows() const { return int64_t{batches} * cells_y * cells_x; }
};

struct View {
  Sizes sizes;
  Matrix depths;               // [images * depths, pixels]: logarithms of the distribution, up to a constant
  Matrix context;              // [images * pixels, channels]
  std::vector<int32_t> cells;  // [batches, points, 3]: x, y, z
  Matrix grad_output;          // [batches * cells_y * cells_x, channels]
};

// Over the depths of each pixel.
template <class Dense>
Matrix softmax(const Sizes& sizes, Matrix x, const Dense& dense) {
  dense.for_rows(sizes.images(), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const int64_t first_row = image * sizes.depths, end_row = first_row + sizes.depths;
      auto sums = zeros(1, sizes.pixels);
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
          sums[0][pixel] += x[row][pixel] = std::exp(x[row][pixel]);
        }
      }
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) x[row][pixel] /= sums[0][pixel];
      }
    }
  });
  return x;
}

// The features of the points: those of their pixel, weighted by depth.
template <class Dense>
Matrix weighted_features(const Sizes& sizes, const Matrix& depths, const Matrix& context, const Dense& dense) {
  Matrix features(depths.rows * sizes.pixels, sizes.channels);
  dense.for_rows(depths.rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
        const float weight = depths[row][pixel];
        const float* const from = context[row / sizes.depths * sizes.pixels + pixel];
        float* const to = features[row * sizes.pixels + pixel];
        for (int64_t c = 0; c < sizes.channels; ++c) to[c] = weight * from[c];
      }
    }
  });
  return features;
}

// The gradients of the context, and of the depths before softmax.
template <class Dense>
std::pair<Matrix, Matrix> weighted_features_grad(const Sizes& sizes, const Matrix& depths, const Matrix& context,
                                                 const Matrix& grad, const Dense& dense) {
  auto grad_context = zeros(context.rows, context.columns);
  Matrix grad_depths(depths.rows, depths.columns);
  dense.for_rows(sizes.images(), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const int64_t first_row = image * sizes.depths, end_row = first_row + sizes.depths;
      auto mean = zeros(1, sizes.pixels);  // of the gradients of the weights
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
          const float weight = depths[row][pixel];
          const float* const features = context[image * sizes.pixels + pixel];
          const float* const from = grad[row * sizes.pixels + pixel];
          float* const to = grad_context[image * sizes.pixels + pixel];
          std::array<float, kLanes> sums{};
          for (int64_t c = 0; c < sizes.channels; c += kLanes) {
            for (int64_t lane = 0; lane < kLanes; ++lane) {
              sums[static_cast<size_t>(lane)] += from[c + lane] * features[c + lane];
              to[c + lane] += from[c + lane] * weight;
            }
          }
          float weight_grad = 0;
          for (const float sum : sums) weight_grad += sum;
          grad_depths[row][pixel] = weight_grad;
          mean[0][pixel] += weight_grad * weight;
        }
      }
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
          float& value = grad_depths[row][pixel];
          value = depths[row][pixel] * (value - mean[0][pixel]);
        }
      }
    }
  });
  return {std::move(grad_context), std::move(grad_depths)};
}

// The forward pass, and the backward pass if the network `trains`.
template <class Dense = DenseLayers<>>
Result compute(const View& view, const Operators& operators, bool trains = true, const Dense& dense = {}) {
  const Sizes& s = view.sizes;
  const cases::Dims points = {s.batches, s.points(), 3}, features = {s.batches, s.points(), s.channels};
  const cases::Dims grid = {s.batches, s.cells_y, s.cells_x, s.channels};
  Result result;
  result.output = Matrix(s.output_rows(), s.channels);
  auto& pos_memo = result.indices.emplace_back(view.cells.size());
  const Matrix depths = softmax(s, view.depths, dense);
  {
    const Matrix weighted = weighted_features(s, depths, view.context, dense);
    operators.call("voxel_pooling_forward",
                   {tensor(view.cells.data(), points), tensor(weighted, features), tensor(result.output, grid),
                    tensor(pos_memo.data(), points)},
                   parameters({{"batch_size", s.batches},
                               {"num_points", s.points()},
                               {"num_channels", s.channels},
                               {"num_voxel_x", s.cells_x},
                               {"num_voxel_y", s.cells_y},
                               {"num_voxel_z", s.cells_z}}));
  }
  if (trains) {
    Matrix grad(int64_t{s.batches} * s.points(), s.channels);
    operators.call("voxel_pooling_backward",
                   {tensor(view.grad_output, grid), tensor(pos_memo.data(), points), tensor(grad, features)});
    auto [grad_context, grad_depths] = weighted_features_grad(s, depths, view.context, grad, dense);
    result.gradients.emplace_back("context", std::move(grad_context));
    result.gradients.emplace_back("depths", std::move(grad_depths));
  }
  return result;
}

}  // namespace mluop::test::bev_depth
