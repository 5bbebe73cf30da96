// The step from camera to bird's-eye view of BEVDepth, forward and backward.
#include "networks/bev_depth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "networks/bev_depth_library.h"
#include "networks/bev_depth_reference.h"
#include "networks/expectations.h"
#include "support/element.h"
#include "support/environment.h"

namespace mluop::test::bev_depth {
namespace {

constexpr Sizes kSizes = {2, 3, 16, 80, 27, 20, 24, 1};

// The pixels of the cameras are rays from the center of the grid; far points are outside it, or too high.
View random_view(std::mt19937& random) {
  View view{kSizes,
            random_matrix(kSizes.images() * kSizes.depths, kSizes.pixels, 2, random),
            random_matrix(kSizes.images() * kSizes.pixels, kSizes.channels, 1, random),
            {},
            random_matrix(kSizes.output_rows(), kSizes.channels, 1, random)};
  std::uniform_real_distribution<double> angle(0, 6.3), slope(-0.1, 0.2);
  for (int64_t image = 0; image < kSizes.images(); ++image) {
    std::vector<double> directions, rises;
    for (int64_t pixel = 0; pixel < kSizes.pixels; ++pixel) {
      directions.push_back(angle(random));
      rises.push_back(slope(random));
    }
    for (int d = 0; d < kSizes.depths; ++d) {
      for (size_t pixel = 0; pixel < directions.size(); ++pixel) {
        view.cells.push_back(
            {static_cast<int32_t>(std::floor(kSizes.cells_x / 2 + d * std::cos(directions[pixel]))),
             static_cast<int32_t>(std::floor(kSizes.cells_y / 2 + d * std::sin(directions[pixel]))),
             static_cast<int32_t>(std::floor(0.5 + d * rises[pixel]))});
      }
    }
  }
  return view;
}

Matrix<Half> rounded(const Matrix<float>& matrix) {
  Matrix<Half> result(matrix.rows, matrix.columns);
  std::transform(matrix.values.begin(), matrix.values.end(), result.values.begin(), rounded_to<Half>);
  return result;
}

Matrix<float> floats_of(const Matrix<Half>& matrix) {
  Matrix<float> result(matrix.rows, matrix.columns);
  std::transform(matrix.values.begin(), matrix.values.end(), result.values.begin(),
                 [](Half value) { return to_f32(value); });
  return result;
}

// Library, with features and gradients in half in the operators.
struct HalfLibrary {
  using Float = float;

  Matrix<float> pool(const Sizes& sizes, const std::vector<Cell>& cells, const Matrix<float>& features,
                     Values<Cell>& memo) const {
    const Library::Tensors tensors(sizes, MLUOP_DTYPE_HALF);
    const Matrix<Half> input = rounded(features);
    Matrix<Half> output(sizes.output_rows(), sizes.channels);
    memo.resize(cells.size());
    require(mluOpVoxelPoolingForward(handle, sizes.batches, sizes.points(), sizes.channels, sizes.cells_x,
                                     sizes.cells_y, sizes.cells_z, tensors.cells, cells.data(), tensors.features,
                                     input.data(), tensors.grid, output.data(), tensors.cells, memo.data()));
    return floats_of(output);
  }

  Matrix<float> pool_grad(const Sizes& sizes, const Values<Cell>& memo, const Matrix<float>& grad) const {
    const Library::Tensors tensors(sizes, MLUOP_DTYPE_HALF);
    const Matrix<Half> input = rounded(grad);
    Matrix<Half> features(int64_t{sizes.batches} * sizes.points(), sizes.channels);
    require(mluOpOmpVoxelPoolingBackward(handle, tensors.grid, input.data(), tensors.cells, memo.data(),
                                         tensors.features, features.data()));
    return floats_of(features);
  }

  mluOpHandle_t handle;
};

template <class Operators>
void expect_near_reference(double tolerance) {
  auto random = seeded_random();
  const View view = random_view(random);
  const auto expected = forward(view, Reference{});
  const auto expected_gradients = backward(view, expected, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const Operators library{handle};
    const auto found = forward(view, library);
    EXPECT_EQ(found.memo, expected.memo);
    expect_near(found.output, expected.output, tolerance);
    const auto gradients = backward(view, found, library);
    expect_near(gradients.depths, expected_gradients.depths, tolerance);
    expect_near(gradients.context, expected_gradients.context, tolerance);
  }
}

TEST(NetworksBevDepth, CameraToBirdsEyeView) { expect_near_reference<Library>(1e-5); }

// Features and gradients are rounded before the operators: by 2^-11 of their values at most.
TEST(NetworksBevDepth, CameraToBirdsEyeViewInHalf) { expect_near_reference<HalfLibrary>(1e-3); }

// The reference itself: central differences of sum(output * grad_output).
TEST(NetworksBevDepth, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  View view = random_view(random);
  const auto gradients = backward(view, forward(view, Reference{}), Reference{});
  for (const size_t i : {0, 1001, 7000}) {
    expect_gradient([&] { return inner_product(forward(view, Reference{}).output, view.grad_output); },
                    {{&view.depths.values[i], gradients.depths.values[i]},
                     {&view.context.values[i], gradients.context.values[i]}});
  }
}

}  // namespace
}  // namespace mluop::test::bev_depth
