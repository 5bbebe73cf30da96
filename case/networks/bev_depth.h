// The step from camera to bird's-eye view of BEVDepth: features of pixels, weighted by a distribution of depths,
// are pooled into cells of a grid, forward and backward.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "case/networks/dense_layers.h"
#include "case/networks/operators.h"
#include "case/networks/tensor.h"
#include "case/scenes/camera_rig.h"

namespace mluop::networks::bev_depth {

// The points of a batch are in BEVDepth's order: camera, depth, pixel.
struct Sizes {
  int32_t batches, cameras, depths, pixels, channels;
  int32_t cells_x, cells_y, cells_z;

  int32_t points() const { return cameras * depths * pixels; }  // of a batch
  int64_t images() const { return int64_t{batches} * cameras; }
  int64_t output_rows() const { return int64_t{batches} * cells_y * cells_x; }
};

// The network's sizes, with `depths` depth bins over the same range.
inline Sizes network_sizes(int32_t depths) {
  constexpr int32_t kCameras = 6;
  const auto& whole = scenes::kBevDepthSizes;
  return {static_cast<int32_t>(whole.batch_size),
          kCameras,
          depths,
          static_cast<int32_t>(whole.num_points / kCameras / scenes::kBevDepthBins),
          static_cast<int32_t>(whole.num_channels),
          static_cast<int32_t>(whole.num_voxel_x),
          static_cast<int32_t>(whole.num_voxel_y),
          static_cast<int32_t>(whole.num_voxel_z)};
}

struct View {
  Sizes sizes;
  Matrix depths;               // [images * depths, pixels]: logarithms of the distribution, up to a constant
  Matrix context;              // [images * pixels, channels]
  std::vector<int32_t> cells;  // [batches, points, 3]: x, y, z
  Matrix grad_output;          // [batches * cells_y * cells_x, channels]
};

// Softmax over the depths of each pixel.
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

// The gradient of softmax's input from the gradient of its result.
template <class Dense>
Matrix softmax_grad(const Sizes& sizes, const Matrix& depths, Matrix grad, const Dense& dense) {
  dense.for_rows(sizes.images(), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const int64_t first_row = image * sizes.depths, end_row = first_row + sizes.depths;
      auto mean = zeros(1, sizes.pixels);
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel)
          mean[0][pixel] += grad[row][pixel] * depths[row][pixel];
      }
      for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t pixel = 0; pixel < sizes.pixels; ++pixel) {
          grad[row][pixel] = depths[row][pixel] * (grad[row][pixel] - mean[0][pixel]);
        }
      }
    }
  });
  return grad;
}

// Tensors of the points that BEV pool requires.
struct Points {
  Points(const Sizes& s, const std::vector<int32_t>& cells) {
    for (int32_t point = 0; point < s.batches * s.points(); ++point) {
      const int32_t* const at = &cells[static_cast<size_t>(point) * 3];
      const bool is_inside =
          at[0] >= 0 && at[0] < s.cells_x && at[1] >= 0 && at[1] < s.cells_y && at[2] >= 0 && at[2] < s.cells_z;
      const int32_t row = point / s.points() * s.cells_y + at[1], image = point / (s.depths * s.pixels);
      ranks_depth.push_back(point);
      ranks_feat.push_back(image * s.pixels + point % s.pixels);
      ranks_bev.push_back(is_inside ? row * s.cells_x + at[0] : -1);
    }
  }

  std::vector<int32_t> ranks_depth, ranks_feat, ranks_bev;
};

// The forward pass, and the backward pass if the network `trains`.
template <class Dense = DenseLayers<>>
Result compute(const View& view, const Operators& operators, bool trains = true, const Dense& dense = {}) {
  const Sizes& s = view.sizes;
  const Points points(s, view.cells);
  const auto ranks = [](const std::vector<int32_t>& numbers) {
    return tensor(numbers.data(), {static_cast<int64_t>(numbers.size())});
  };
  const cases::Dims weights = {view.depths.rows * view.depths.columns};
  const Matrix depths = softmax(s, view.depths, dense);
  Result result;
  result.output = Matrix(s.output_rows(), s.channels);
  operators.call("bev_pool_forward", {tensor(depths, weights), tensor(view.context), ranks(points.ranks_depth),
                                      ranks(points.ranks_feat), ranks(points.ranks_bev), tensor(result.output)});
  if (trains) {
    Matrix grad_depths(depths.rows, depths.columns), grad_context(view.context.rows, view.context.columns);
    operators.call(
        "bev_pool_backward",
        {tensor(view.grad_output), tensor(depths, weights), tensor(view.context), ranks(points.ranks_depth),
         ranks(points.ranks_feat), ranks(points.ranks_bev), tensor(grad_depths, weights), tensor(grad_context)});
    result.gradients.emplace_back("context", std::move(grad_context));
    result.gradients.emplace_back("depths", softmax_grad(s, depths, std::move(grad_depths), dense));
  }
  return result;
}

}  // namespace mluop::networks::bev_depth
