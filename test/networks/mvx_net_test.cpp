// The dynamic voxel feature encoder of MVX-Net: means, two shared layers and maxima over the points of each voxel,
// forward and backward.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>

#include "networks/layers.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using Voxel = std::array<int32_t, 3>;  // z, y, x

constexpr int64_t kPoints = 1500, kPointChannels = 4, kHidden = 16, kOutputs = 32;

struct Encoder {
  Matrix<float> points;         // x, y, z, intensity
  std::vector<Voxel> voxels;    // of the points; negative if out of range
  Matrix<float> first, second;  // weights of the layers
  Matrix<float> grad_output;    // a row for each point, of which the first are used
};

Encoder random_encoder(std::mt19937& random) {
  Encoder encoder{random_matrix(kPoints, kPointChannels, 1, random),
                  {},
                  random_matrix(kPointChannels + 3, kHidden, 0.7F, random),
                  random_matrix(2 * kHidden, kOutputs, 0.3F, random),
                  random_matrix(kPoints, kOutputs, 1, random)};
  for (int64_t n = 0; n < kPoints; ++n) {
    const float* point = encoder.points[n];
    const auto cell = [&](int axis, float cells) {
      return static_cast<int32_t>(std::floor((point[axis] + 0.9F) * cells));
    };
    encoder.voxels.push_back({cell(2, 2), cell(1, 8), cell(0, 8)});
  }
  return encoder;
}

// The reduction of points to voxels. Voxels are in the order of their coordinates.
template <class F>
struct Scatter {
  Matrix<F> features;
  std::vector<Voxel> voxels;
  std::vector<int32_t> voxel_of, counts;  // of the points, -1 if there is none; of the voxels
};

struct Library {
  using Float = float;

  Scatter<float> scatter(mluOpReduceMode_t mode, const Matrix<float>& features, std::vector<Voxel> voxels) const {
    const int64_t N = features.rows, C = features.columns;
    const Descriptor feats(MLUOP_DTYPE_FLOAT, {N, C}), coors(MLUOP_DTYPE_INT32, {N, 3});
    const Descriptor ints(MLUOP_DTYPE_INT32, {N}), one(MLUOP_DTYPE_INT32, {1});
    size_t bytes = 0;
    require(mluOpGetDynamicPointToVoxelForwardWorkspaceSize(handle, feats, coors, &bytes));
    std::vector<char> workspace(bytes);
    const auto size = static_cast<size_t>(N);
    Scatter<float> result{Matrix<float>(N, C), std::vector<Voxel>(size), std::vector<int32_t>(size),
                          std::vector<int32_t>(size)};
    int32_t count = 0;
    require(mluOpDynamicPointToVoxelForward(handle, mode, feats, features.data(), coors, voxels.data(),
                                            workspace.data(), bytes, feats, result.features.data(), coors,
                                            result.voxels.data(), ints, result.voxel_of.data(), ints,
                                            result.counts.data(), one, &count));
    result.features.rows = count;
    result.features.values.resize(static_cast<size_t>(count * C));
    result.voxels.resize(static_cast<size_t>(count));
    result.counts.resize(static_cast<size_t>(count));
    return result;
  }

  Matrix<float> scatter_grad(mluOpReduceMode_t mode, const Matrix<float>& features,
                             const Scatter<float>& scattered, const Matrix<float>& grad) const {
    const int64_t N = features.rows, C = features.columns, M = grad.rows;
    const Descriptor feats(MLUOP_DTYPE_FLOAT, {N, C}), voxel_feats(MLUOP_DTYPE_FLOAT, {M, C});
    const Descriptor voxel_of(MLUOP_DTYPE_INT32, {N}), counts(MLUOP_DTYPE_INT32, {M}), one(MLUOP_DTYPE_INT32, {1});
    size_t bytes = 0;
    require(mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(handle, mode, feats, feats, voxel_feats, voxel_of,
                                                             counts, one, &bytes));
    std::vector<char> workspace(bytes);
    const auto voxel_num = static_cast<int32_t>(M);
    Matrix<float> result(N, C);
    require(mluOpDynamicPointToVoxelBackward(handle, mode, voxel_feats, grad.data(), feats, features.data(),
                                             voxel_feats, scattered.features.data(), voxel_of,
                                             scattered.voxel_of.data(), counts, scattered.counts.data(), one,
                                             &voxel_num, workspace.data(), bytes, feats, result.data()));
    return result;
  }

  const Handle& handle;
};

struct Reference {
  using Float = double;

  Scatter<double> scatter(mluOpReduceMode_t mode, const Matrix<double>& features,
                          const std::vector<Voxel>& voxels) const {
    std::map<Voxel, std::vector<int64_t>> points_of;
    for (int64_t n = 0; n < features.rows; ++n) {
      const Voxel& voxel = voxels[static_cast<size_t>(n)];
      if (*std::min_element(voxel.begin(), voxel.end()) >= 0) points_of[voxel].push_back(n);
    }
    const auto count = static_cast<int64_t>(points_of.size());
    Scatter<double> result{Matrix<double>(count, features.columns),
                           {},
                           std::vector<int32_t>(static_cast<size_t>(features.rows), -1),
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
    Matrix<double> result(features.rows, features.columns);
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

// Rows of voxels at their points, zero where there is no voxel.
template <class F>
Matrix<F> at_points(const Matrix<F>& voxel_features, const std::vector<int32_t>& voxel_of) {
  Matrix<F> result(static_cast<int64_t>(voxel_of.size()), voxel_features.columns);
  for (int64_t n = 0; n < result.rows; ++n) {
    const int32_t v = voxel_of[static_cast<size_t>(n)];
    if (v >= 0) std::copy_n(voxel_features[v], result.columns, result[n]);
  }
  return result;
}

// The columns [first, first + count).
template <class F>
Matrix<F> columns_of(const Matrix<F>& matrix, int64_t first, int64_t count) {
  Matrix<F> result(matrix.rows, count);
  for (int64_t i = 0; i < matrix.rows; ++i) std::copy_n(matrix[i] + first, count, result[i]);
  return result;
}

// The first three columns of x minus y.
template <class F>
Matrix<F> difference3(const Matrix<F>& x, const Matrix<F>& y) {
  Matrix<F> result = columns_of(x, 0, 3);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t c = 0; c < 3; ++c) result[i][c] -= y[i][c];
  }
  return result;
}

template <class F>
Matrix<F> sum(Matrix<F> x, const Matrix<F>& y) {
  for (size_t i = 0; i < x.values.size(); ++i) x.values[i] += y.values[i];
  return x;
}

template <class F>
struct Result {
  std::vector<Voxel> voxels;
  std::vector<int32_t> voxel_of, counts;
  Matrix<F> output, grad_points, grad_first, grad_second;
};

template <class Operators, class F = typename Operators::Float>
Result<F> encode(const Encoder& encoder, const Operators& operators) {
  const Matrix<F> points(encoder.points), first(encoder.first), second(encoder.second);
  const auto means = operators.scatter(MLUOP_REDUCE_DMEAN, points, encoder.voxels);
  const Matrix<F> offsets = difference3(points, at_points(means.features, means.voxel_of));
  const Matrix<F> inputs = concatenate(points, offsets);
  const Matrix<F> first_sums = linear(inputs, first);
  const Matrix<F> hidden = softplus(first_sums);
  const auto maxima = operators.scatter(MLUOP_REDUCE_DMAX, hidden, encoder.voxels);
  const Matrix<F> joined = concatenate(hidden, at_points(maxima.features, maxima.voxel_of));
  const Matrix<F> second_sums = linear(joined, second);
  const Matrix<F> last = softplus(second_sums);
  const auto output = operators.scatter(MLUOP_REDUCE_DMAX, last, encoder.voxels);

  Matrix<F> grad_output(encoder.grad_output);
  grad_output.rows = output.features.rows;
  grad_output.values.resize(output.features.values.size());
  const Matrix<F> grad_second_sums =
      softplus_grad(second_sums, operators.scatter_grad(MLUOP_REDUCE_DMAX, last, output, grad_output));
  const Matrix<F> grad_joined = linear_grad_input(grad_second_sums, second);
  // The gradient of a voxel's maximum is the sum of those of its points.
  const auto grad_maxima =
      operators.scatter(MLUOP_REDUCE_DSUM, columns_of(grad_joined, kHidden, kHidden), encoder.voxels);
  const Matrix<F> grad_hidden =
      sum(columns_of(grad_joined, 0, kHidden),
          operators.scatter_grad(MLUOP_REDUCE_DMAX, hidden, maxima, grad_maxima.features));
  const Matrix<F> grad_first_sums = softplus_grad(first_sums, grad_hidden);
  const Matrix<F> grad_inputs = linear_grad_input(grad_first_sums, first);
  Matrix<F> grad_offsets(kPoints, kPointChannels);
  for (int64_t n = 0; n < kPoints; ++n) std::copy_n(grad_inputs[n] + kPointChannels, 3, grad_offsets[n]);
  Matrix<F> grad_means = operators.scatter(MLUOP_REDUCE_DSUM, grad_offsets, encoder.voxels).features;
  for (F& value : grad_means.values) value = -value;
  const Matrix<F> grad_points = sum(sum(columns_of(grad_inputs, 0, kPointChannels), grad_offsets),
                                    operators.scatter_grad(MLUOP_REDUCE_DMEAN, points, means, grad_means));
  return {output.voxels,
          output.voxel_of,
          output.counts,
          output.features,
          grad_points,
          linear_grad_weights(inputs, grad_first_sums),
          linear_grad_weights(joined, grad_second_sums)};
}

TEST(NetworksMvxNet, DynamicVoxelEncoder) {
  auto random = seeded_random();
  const Encoder encoder = random_encoder(random);
  const auto expected = encode(encoder, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const auto found = encode(encoder, Library{handle});
    ASSERT_EQ(found.voxels, expected.voxels);
    EXPECT_EQ(found.voxel_of, expected.voxel_of);
    EXPECT_EQ(found.counts, expected.counts);
    expect_near(found.output, expected.output, 1e-5);
    expect_near(found.grad_points, expected.grad_points, 1e-5);
    expect_near(found.grad_first, expected.grad_first, 1e-5);
    expect_near(found.grad_second, expected.grad_second, 1e-5);
  }
}

// The reference itself: central differences of sum(output * grad_output).
TEST(NetworksMvxNet, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  Encoder encoder = random_encoder(random);
  const auto result = encode(encoder, Reference{});
  expect_gradient([&] { return inner_product(encode(encoder, Reference{}).output, encoder.grad_output); },
                  {{&encoder.points.values[5], result.grad_points.values[5]},
                   {&encoder.points.values[4000], result.grad_points.values[4000]},
                   {&encoder.first.values[20], result.grad_first.values[20]},
                   {&encoder.second.values[500], result.grad_second.values[500]}});
}

}  // namespace
}  // namespace mluop::test
