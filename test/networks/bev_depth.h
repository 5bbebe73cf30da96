// The step from camera to bird's-eye view of BEVDepth: features of pixels, weighted by a distribution of depths,
// are pooled into cells of a grid, forward and backward.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "networks/dense_layers.h"
#include "networks/tensor.h"

namespace mluop::test::bev_depth {

// Partial sums of a row, which compilers add as vectors.
inline constexpr int64_t kLanes = 8;

using Cell = std::array<int32_t, 3>;  // x, y, z in `geom_xyz`; batch, y, x in `pos_memo`

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
  Matrix<float> depths;       // [images * depths, pixels]: logarithms of the distribution, up to a constant
  Matrix<float> context;      // [images * pixels, channels]
  std::vector<Cell> cells;    // of the points
  Matrix<float> grad_output;  // [batches * cells_y * cells_x, channels]
};

template <class F>
struct Activations {
  Matrix<F> depths;  // the distribution
  Values<Cell> memo;
  Matrix<F> output;
};

template <class F>
struct Gradients {
  Matrix<F> depths, context;
};

// Over the depths of each pixel.
template <class F, class Dense>
Matrix<F> softmax(const Sizes& sizes, Matrix<F> x, const Dense& dense) {
  dense.for_rows(sizes.images(), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const int64_t first_row = image * sizes.depths, end_row = first_row + sizes.depths;
      auto sums = zeros<F>(1, sizes.pixels);
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
template <class F, class Dense>
Matrix<F> weighted_features(const Sizes& sizes, const Matrix<F>& depths, const Matrix<F>& context,
                            const Dense& dense) {
  Matrix<F> features(depths.rows * sizes.pixels, sizes.channels);
  dense.for_rows(depths.rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
        const F weight = depths[row][pixel];
        const F* const from = context[row / sizes.depths * sizes.pixels + pixel];
        F* const to = features[row * sizes.pixels + pixel];
        for (int64_t c = 0; c < sizes.channels; ++c) to[c] = weight * from[c];
      }
    }
  });
  return features;
}

// The gradient of the depths before softmax, and of the context.
template <class F, class Dense>
Gradients<F> weighted_features_grad(const Sizes& sizes, const Matrix<F>& depths, const Matrix<F>& context,
                                    const Matrix<F>& grad, const Dense& dense) {
  Gradients<F> result{{depths.rows, depths.columns}, zeros<F>(context.rows, context.columns)};
  dense.for_rows(sizes.images(), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const int64_t first_row = image * sizes.depths, end_row = first_row + sizes.depths;
      auto mean = zeros<F>(1, sizes.pixels);  // of the gradients of the weights
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
          const F weight = depths[row][pixel];
          const F* const features = context[image * sizes.pixels + pixel];
          const F* const from = grad[row * sizes.pixels + pixel];
          F* const to = result.context[image * sizes.pixels + pixel];
          std::array<F, kLanes> sums{};
          int64_t c = 0;
          for (; c + kLanes <= sizes.channels; c += kLanes) {
            for (int64_t lane = 0; lane < kLanes; ++lane) {
              sums[static_cast<size_t>(lane)] += from[c + lane] * features[c + lane];
              to[c + lane] += from[c + lane] * weight;
            }
          }
          F weight_grad = 0;
          for (; c < sizes.channels; ++c) {
            weight_grad += from[c] * features[c];
            to[c] += from[c] * weight;
          }
          for (const F sum : sums) weight_grad += sum;
          result.depths[row][pixel] = weight_grad;
          mean[0][pixel] += weight_grad * weight;
        }
      }
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
          F& value = result.depths[row][pixel];
          value = depths[row][pixel] * (value - mean[0][pixel]);
        }
      }
    }
  });
  return result;
}

template <class Operators, class Dense = DenseLayers<typename Operators::Float>>
auto forward(const View& view, const Operators& operators, const Dense& dense = {}) {
  using F = typename Operators::Float;
  const Sizes& sizes = view.sizes;
  Activations<F> result;
  result.depths = softmax(sizes, Matrix<F>(view.depths), dense);
  const auto features = weighted_features(sizes, result.depths, as<F>(view.context), dense);
  result.output = operators.pool(sizes, view.cells, features, result.memo);
  return result;
}

template <class F, class Operators, class Dense = DenseLayers<F>>
Gradients<F> backward(const View& view, const Activations<F>& activations, const Operators& operators,
                      const Dense& dense = {}) {
  const auto grad_features = operators.pool_grad(view.sizes, activations.memo, as<F>(view.grad_output));
  return weighted_features_grad(view.sizes, activations.depths, as<F>(view.context), grad_features, dense);
}

}  // namespace mluop::test::bev_depth
