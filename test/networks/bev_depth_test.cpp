// The step from camera to bird's-eye view of BEVDepth: features of pixels, weighted by a distribution of depths,
// are pooled into cells of a grid, forward and backward.
#include <gtest/gtest.h>

#include <array>
#include <type_traits>

#include "mlu_op_omp.h"
#include "networks/layers.h"
#include "support/element.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using Cell = std::array<int32_t, 3>;  // x, y, z in `geom_xyz`; batch, y, x in `pos_memo`

constexpr int64_t kBatch = 2, kPixels = 240, kDepths = 16, kChannels = 24;
constexpr int64_t kPoints = kPixels * kDepths;  // of a batch
constexpr int kCellsX = 20, kCellsY = 24, kCellsZ = 1;

struct View {
  Matrix<float> depths;       // [kBatch * kPixels, kDepths]: logarithms of the distribution, up to a constant
  Matrix<float> context;      // [kBatch * kPixels, kChannels]
  std::vector<Cell> cells;    // of the points [kBatch, kPixels, kDepths]
  Matrix<float> grad_output;  // [kBatch * kCellsY * kCellsX, kChannels]
};

// The pixels of a camera are rays from the center of the grid; far points are outside it, or too high.
View random_view(std::mt19937& random) {
  View view{random_matrix(kBatch * kPixels, kDepths, 2, random),
            random_matrix(kBatch * kPixels, kChannels, 1, random),
            {},
            random_matrix(kBatch * kCellsY * kCellsX, kChannels, 1, random)};
  std::uniform_real_distribution<double> angle(0, 6.3), slope(-0.1, 0.2);
  for (int64_t pixel = 0; pixel < kBatch * kPixels; ++pixel) {
    const double direction = angle(random), rise = slope(random);
    for (int64_t d = 0; d < kDepths; ++d) {
      const auto distance = static_cast<double>(d);
      view.cells.push_back({static_cast<int32_t>(std::floor(kCellsX / 2 + distance * std::cos(direction))),
                            static_cast<int32_t>(std::floor(kCellsY / 2 + distance * std::sin(direction))),
                            static_cast<int32_t>(std::floor(0.5 + distance * rise))});
    }
  }
  return view;
}

template <class T>
Matrix<T> rounded(const Matrix<float>& matrix) {
  Matrix<T> result(matrix.rows, matrix.columns);
  std::transform(matrix.values.begin(), matrix.values.end(), result.values.begin(), rounded_to<T>);
  return result;
}
template <class T>
Matrix<float> floats_of(const Matrix<T>& matrix) {
  Matrix<float> result(matrix.rows, matrix.columns);
  std::transform(matrix.values.begin(), matrix.values.end(), result.values.begin(),
                 [](T value) { return to_f32(value); });
  return result;
}

// A point is a row of its features. T: float or Half, the type of features and gradients in the operators; the
// layers around them are in fp32.
template <class T>
struct Library {
  using Float = float;

  Matrix<float> pool(const std::vector<Cell>& cells, const Matrix<float>& features,
                     std::vector<Cell>& memo) const {
    const Matrix<T> input = rounded<T>(features);
    Matrix<T> output(kBatch * kCellsY * kCellsX, kChannels);
    memo.resize(cells.size());
    require(mluOpVoxelPoolingForward(handle, kBatch, kPoints, kChannels, kCellsX, kCellsY, kCellsZ, points_by_axis,
                                     cells.data(), points_by_channel, input.data(), grid, output.data(),
                                     points_by_axis, memo.data()));
    return floats_of(output);
  }

  Matrix<float> pool_grad(const std::vector<Cell>& memo, const Matrix<float>& grad) const {
    const Matrix<T> input = rounded<T>(grad);
    Matrix<T> features(kBatch * kPoints, kChannels);
    require(mluOpOmpVoxelPoolingBackward(handle, grid, input.data(), points_by_axis, memo.data(),
                                         points_by_channel, features.data()));
    return floats_of(features);
  }

  const Handle& handle;
  Descriptor points_by_axis{MLUOP_DTYPE_INT32, {kBatch, kPoints, 3}};
  Descriptor points_by_channel{kDtype<T>, {kBatch, kPoints, kChannels}};
  Descriptor grid{kDtype<T>, {kBatch, kCellsY, kCellsX, kChannels}};
};

struct Reference {
  using Float = double;

  Matrix<double> pool(const std::vector<Cell>& cells, const Matrix<double>& features,
                      std::vector<Cell>& memo) const {
    Matrix<double> output(kBatch * kCellsY * kCellsX, kChannels);
    for (int64_t p = 0; p < kBatch * kPoints; ++p) {
      const auto [x, y, z] = cells[static_cast<size_t>(p)];
      const bool inside = x >= 0 && x < kCellsX && y >= 0 && y < kCellsY && z >= 0 && z < kCellsZ;
      memo.push_back(inside ? Cell{static_cast<int32_t>(p / kPoints), y, x} : Cell{-1, -1, -1});
      if (!inside) continue;
      for (int64_t c = 0; c < kChannels; ++c) output[row_of(memo.back())][c] += features[p][c];
    }
    return output;
  }

  Matrix<double> pool_grad(const std::vector<Cell>& memo, const Matrix<double>& grad) const {
    Matrix<double> features(kBatch * kPoints, kChannels);
    for (int64_t p = 0; p < kBatch * kPoints; ++p) {
      const Cell& cell = memo[static_cast<size_t>(p)];
      if (cell[0] >= 0) std::copy_n(grad[row_of(cell)], kChannels, features[p]);
    }
    return features;
  }

  static int64_t row_of(const Cell& memo) { return (int64_t{memo[0]} * kCellsY + memo[1]) * kCellsX + memo[2]; }
};

template <class F>
Matrix<F> softmax(Matrix<F> x) {
  for (int64_t i = 0; i < x.rows; ++i) {
    F sum = 0;
    for (int64_t j = 0; j < x.columns; ++j) sum += x[i][j] = std::exp(x[i][j]);
    for (int64_t j = 0; j < x.columns; ++j) x[i][j] /= sum;
  }
  return x;
}

template <class F>
struct Result {
  std::vector<Cell> memo;
  Matrix<F> output, grad_depths, grad_context;
};

template <class Operators, class F = typename Operators::Float>
Result<F> pool(const View& view, const Operators& operators) {
  const Matrix<F> depths = softmax(Matrix<F>(view.depths)), context(view.context);
  Matrix<F> features(kBatch * kPoints, kChannels);
  for (int64_t p = 0; p < features.rows; ++p) {
    const F weight = depths.values[static_cast<size_t>(p)];
    for (int64_t c = 0; c < kChannels; ++c) features[p][c] = weight * context[p / kDepths][c];
  }
  std::vector<Cell> memo;
  const Matrix<F> output = operators.pool(view.cells, features, memo);

  const Matrix<F> grad_features = operators.pool_grad(memo, Matrix<F>(view.grad_output));
  Matrix<F> grad_depths(depths.rows, kDepths), grad_context(context.rows, kChannels);
  for (int64_t pixel = 0; pixel < depths.rows; ++pixel) {
    std::array<F, kDepths> grad_weights{};
    F mean = 0;
    for (int64_t d = 0; d < kDepths; ++d) {
      const F* grad = grad_features[pixel * kDepths + d];
      F& grad_weight = grad_weights[static_cast<size_t>(d)];
      for (int64_t c = 0; c < kChannels; ++c) {
        grad_weight += grad[c] * context[pixel][c];
        grad_context[pixel][c] += grad[c] * depths[pixel][d];
      }
      mean += grad_weight * depths[pixel][d];
    }
    for (int64_t d = 0; d < kDepths; ++d) {
      grad_depths[pixel][d] = depths[pixel][d] * (grad_weights[static_cast<size_t>(d)] - mean);
    }
  }
  return {memo, output, grad_depths, grad_context};
}

template <class T>
class NetworksBevDepthOf : public ::testing::Test {};
using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(NetworksBevDepthOf, Elements);

// Half features and gradients are rounded before the operators: by 2^-11 of their values at most.
TYPED_TEST(NetworksBevDepthOf, CameraToBirdsEyeView) {
  constexpr double kTolerance = std::is_same_v<TypeParam, float> ? 1e-5 : 1e-3;
  auto random = seeded_random();
  const View view = random_view(random);
  const auto expected = pool(view, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const auto found = pool(view, Library<TypeParam>{handle});
    EXPECT_EQ(found.memo, expected.memo);
    expect_near(found.output, expected.output, kTolerance);
    expect_near(found.grad_depths, expected.grad_depths, kTolerance);
    expect_near(found.grad_context, expected.grad_context, kTolerance);
  }
}

// The reference itself: central differences of sum(output * grad_output).
TEST(NetworksBevDepth, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  View view = random_view(random);
  const auto result = pool(view, Reference{});
  for (const size_t i : {0, 1001, 7000}) {
    expect_gradient([&] { return inner_product(pool(view, Reference{}).output, view.grad_output); },
                    {{&view.depths.values[i], result.grad_depths.values[i]},
                     {&view.context.values[i], result.grad_context.values[i]}});
  }
}

}  // namespace
}  // namespace mluop::test
