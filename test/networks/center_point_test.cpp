// The sparse middle encoder of CenterPoint: index pairs and convolutions of seven layers on a LiDAR scan, forward
// and backward.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>

#include "networks/layers.h"
#include "support/environment.h"
#include "support/lidar_scan.h"
#include "support/site_set.h"

namespace mluop::test {
namespace {

using Axes = std::array<int, 3>;  // z, y, x

constexpr int kBatch = 2;

struct Layer {
  int64_t Ci, Co;
  Axes filter, stride, pad;
  bool submanifold;

  int64_t offsets() const { return int64_t{filter[0]} * filter[1] * filter[2]; }
};

constexpr Layer kLayers[] = {
    {4, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, true},    {16, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, true},
    {16, 32, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, false},  {32, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, true},
    {32, 64, {3, 3, 3}, {2, 2, 2}, {0, 1, 1}, false},  {64, 64, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, true},
    {64, 128, {3, 1, 1}, {2, 1, 1}, {0, 0, 0}, false},
};
constexpr size_t kLayerCount = std::size(kLayers);

Axes output_space(const Layer& layer, const Axes& input_space) {
  Axes space{};
  for (size_t i = 0; i < 3; ++i) {
    space[i] = (input_space[i] + 2 * layer.pad[i] - layer.filter[i]) / layer.stride[i] + 1;
  }
  return space;
}

struct Encoder {
  Axes space;
  std::vector<Site> sites;
  Matrix<float> features;
  std::vector<Matrix<float>> filters;  // [offsets * Ci, Co]
};

// Voxels of 0.4 x 0.8 x 0.8 m.
Encoder encoder_of_scans(std::mt19937& random, int columns = 100) {
  const Axes space = {15, 96, 96};
  SiteSet set({kBatch, space[0], space[1], space[2]});
  for (int b = 0; b < kBatch; ++b) {
    for (const Position& point : lidar_turn({16, columns, -15, 8, 1.8}, 40.0 * b, 0)) {
      const Site site = {b, static_cast<int32_t>(std::floor(point[0] / 0.4)) + 5,
                         static_cast<int32_t>(std::floor(point[1] / 0.8)) + space[1] / 2,
                         static_cast<int32_t>(std::floor(point[2] / 0.8)) + space[2] / 2};
      const auto inside = [&](size_t i) { return site[i + 1] >= 0 && site[i + 1] < space[i]; };
      if (inside(0) && inside(1) && inside(2)) set.insert(site);
    }
  }
  set.number();
  Encoder encoder{space, set.sites(), random_matrix(set.size(), kLayers[0].Ci, 1, random), {}};
  for (const Layer& layer : kLayers) {
    const float magnitude = 1 / std::sqrt(static_cast<float>(4 * layer.Ci));
    encoder.filters.push_back(random_matrix(layer.offsets() * layer.Ci, layer.Co, magnitude, random));
  }
  return encoder;
}

// Index pairs of a layer.
struct IndexPairs {
  int64_t inputs;
  std::vector<int32_t> pairs;   // [offsets, 2, inputs]
  std::vector<int64_t> counts;  // [offsets]
};

struct Library {
  using Float = float;
  using Pairs = IndexPairs;

  Pairs find_pairs(const Layer& layer, const Axes& space, std::vector<Site>& sites) const {
    const auto L = static_cast<int64_t>(sites.size());
    const int64_t K = layer.offsets();
    const Axes outputs = output_space(layer, space), dilation = {1, 1, 1};
    const int64_t cells = int64_t{kBatch} * outputs[0] * outputs[1] * outputs[2];
    const int64_t capacity = layer.submanifold ? L : std::min(L * K, cells);
    const SparseConvolutionDescriptor convolution;
    require(mluOpSetSparseConvolutionDescriptor(convolution, 5, kBatch, layer.pad.data(), layer.stride.data(),
                                                dilation.data(), space.data(), layer.filter.data(), outputs.data(),
                                                layer.submanifold, 0, 0));
    const Descriptor indices(MLUOP_DTYPE_INT32, {L, 4}), pairs(MLUOP_DTYPE_INT32, {K, 2, L});
    const Descriptor out_indices(MLUOP_DTYPE_INT32, {capacity, 4}), indice_num(MLUOP_DTYPE_INT32, {K});
    size_t bytes = 0;
    require(
        mluOpGetIndicePairsWorkspaceSize(handle, convolution, indices, pairs, out_indices, indice_num, &bytes));
    std::vector<char> workspace(bytes);
    std::vector<Site> out_sites(static_cast<size_t>(capacity));
    std::vector<int32_t> counts(static_cast<size_t>(K));
    Pairs result{L, std::vector<int32_t>(static_cast<size_t>(K * 2 * L)), {}};
    require(mluOpGetIndicePairs(handle, convolution, indices, sites.data(), workspace.data(), bytes, pairs,
                                result.pairs.data(), out_indices, out_sites.data(), indice_num, counts.data()));
    int count = 0;
    require(mluOpGetSparseConvolutionNumActOut(convolution, &count));
    out_sites.resize(static_cast<size_t>(count));
    sites = out_sites;
    result.counts.assign(counts.begin(), counts.end());
    return result;
  }

  Matrix<float> convolve(const Layer& layer, const Pairs& pairs, const Matrix<float>& features,
                         const Matrix<float>& filters, int64_t outputs) const {
    Matrix<float> output(outputs, layer.Co);
    const Tensors tensors(layer, pairs, outputs);
    size_t bytes = 0;
    require(mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, tensors.input, tensors.filters, tensors.pairs,
                                                          tensors.output, pairs.counts.data(), outputs, 0,
                                                          layer.submanifold, &bytes));
    std::vector<char> workspace(bytes);
    require(mluOpIndiceConvolutionForward(handle, tensors.input, features.data(), tensors.filters, filters.data(),
                                          tensors.pairs, pairs.pairs.data(), pairs.counts.data(), outputs, 0,
                                          layer.submanifold, workspace.data(), bytes, tensors.output,
                                          output.data()));
    return output;
  }

  Matrix<float> grad_features(const Layer& layer, const Pairs& pairs, const Matrix<float>& grad,
                              const Matrix<float>& filters) const {
    Matrix<float> result(pairs.inputs, layer.Ci);
    const Tensors tensors(layer, pairs, grad.rows);
    size_t bytes = 0;
    require(mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(
        handle, tensors.output, tensors.filters, tensors.pairs, tensors.input, pairs.counts.data(), 0, &bytes));
    std::vector<char> workspace(bytes);
    require(mluOpIndiceConvolutionBackwardData(
        handle, tensors.output, grad.data(), tensors.filters, filters.data(), tensors.pairs, pairs.pairs.data(),
        pairs.counts.data(), 0, layer.submanifold, workspace.data(), bytes, tensors.input, result.data()));
    return result;
  }

  Matrix<float> grad_filters(const Layer& layer, const Pairs& pairs, const Matrix<float>& features,
                             const Matrix<float>& grad) const {
    Matrix<float> result(layer.offsets() * layer.Ci, layer.Co);
    const Tensors tensors(layer, pairs, grad.rows);
    size_t bytes = 0;
    require(mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(
        handle, tensors.input, tensors.output, tensors.pairs, tensors.filters, pairs.counts.data(), 0,
        layer.submanifold, &bytes));
    std::vector<char> workspace(bytes);
    require(mluOpIndiceConvolutionBackwardFilter(
        handle, tensors.input, features.data(), tensors.output, grad.data(), tensors.pairs, pairs.pairs.data(),
        pairs.counts.data(), 0, layer.submanifold, workspace.data(), bytes, tensors.filters, result.data()));
    return result;
  }

  // Features, or their gradients, at the inputs and outputs of a layer, and its filters.
  struct Tensors {
    Tensors(const Layer& layer, const Pairs& index_pairs, int64_t outputs)
        : input(MLUOP_DTYPE_FLOAT, {index_pairs.inputs, layer.Ci}),
          output(MLUOP_DTYPE_FLOAT, {outputs, layer.Co}),
          filters(MLUOP_DTYPE_FLOAT, {layer.filter[0], layer.filter[1], layer.filter[2], layer.Ci, layer.Co}),
          pairs(MLUOP_DTYPE_INT32, {layer.offsets(), 2, index_pairs.inputs}) {}

    Descriptor input, output, filters, pairs;
  };

  const Handle& handle;
};

// By the definition of a convolution on the sites.
struct Reference {
  struct Pair {
    int64_t offset, input, output;
  };
  struct Pairs {
    int64_t inputs;
    std::vector<Pair> pairs;
  };
  using Float = double;

  Pairs find_pairs(const Layer& layer, const Axes& space, std::vector<Site>& sites) const {
    const Axes outputs = output_space(layer, space);
    std::map<Site, std::vector<Pair>> pairs_of;  // of an output site, which `output` does not name yet
    for (size_t i = 0; i < sites.size(); ++i) {
      if (layer.submanifold) pairs_of[sites[i]];
    }
    for (size_t i = 0; i < sites.size(); ++i) {
      for (int64_t k = 0; k < layer.offsets(); ++k) {
        const Axes offset = {static_cast<int>(k / (layer.filter[1] * layer.filter[2])),
                             static_cast<int>(k / layer.filter[2] % layer.filter[1]),
                             static_cast<int>(k % layer.filter[2])};
        Site output = sites[i];
        bool exists = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          const int scaled = sites[i][axis + 1] + layer.pad[axis] - offset[axis];
          output[axis + 1] = scaled / layer.stride[axis];
          exists = exists && scaled >= 0 && scaled % layer.stride[axis] == 0 && output[axis + 1] < outputs[axis];
        }
        if (!exists || (layer.submanifold && !pairs_of.contains(output))) continue;
        pairs_of[output].push_back({k, static_cast<int64_t>(i), 0});
      }
    }
    Pairs result{static_cast<int64_t>(sites.size()), {}};
    sites.clear();
    for (const auto& [site, pairs] : pairs_of) {
      for (const Pair& pair : pairs) {
        result.pairs.push_back({pair.offset, pair.input, static_cast<int64_t>(sites.size())});
      }
      sites.push_back(site);
    }
    return result;
  }

  Matrix<double> convolve(const Layer& layer, const Pairs& pairs, const Matrix<double>& features,
                          const Matrix<double>& filters, int64_t outputs) const {
    Matrix<double> output(outputs, layer.Co);
    for_each_product(layer, pairs, [&](const Pair& pair, int64_t ci, int64_t co, int64_t row) {
      output[pair.output][co] += features[pair.input][ci] * filters[row][co];
    });
    return output;
  }

  Matrix<double> grad_features(const Layer& layer, const Pairs& pairs, const Matrix<double>& grad,
                               const Matrix<double>& filters) const {
    Matrix<double> result(pairs.inputs, layer.Ci);
    for_each_product(layer, pairs, [&](const Pair& pair, int64_t ci, int64_t co, int64_t row) {
      result[pair.input][ci] += grad[pair.output][co] * filters[row][co];
    });
    return result;
  }

  Matrix<double> grad_filters(const Layer& layer, const Pairs& pairs, const Matrix<double>& features,
                              const Matrix<double>& grad) const {
    Matrix<double> result(layer.offsets() * layer.Ci, layer.Co);
    for_each_product(layer, pairs, [&](const Pair& pair, int64_t ci, int64_t co, int64_t row) {
      result[row][co] += features[pair.input][ci] * grad[pair.output][co];
    });
    return result;
  }

  template <class Visit>
  static void for_each_product(const Layer& layer, const Pairs& pairs, const Visit& visit) {
    for (const Pair& pair : pairs.pairs) {
      for (int64_t ci = 0; ci < layer.Ci; ++ci) {
        for (int64_t co = 0; co < layer.Co; ++co) visit(pair, ci, co, pair.offset * layer.Ci + ci);
      }
    }
  }
};

template <class F>
struct Result {
  std::vector<Site> sites;
  Matrix<F> output, grad_features;
  std::vector<Matrix<F>> grad_filters;  // from the last layer to the first
};

// The gradient of the output is one everywhere.
template <class Operators, class F = typename Operators::Float>
Result<F> encode(const Encoder& encoder, const Operators& operators) {
  std::vector<Site> sites = encoder.sites;
  Axes space = encoder.space;
  std::vector<typename Operators::Pairs> pairs;
  std::vector<Matrix<F>> inputs = {Matrix<F>(encoder.features)}, sums, filters;
  for (size_t i = 0; i < kLayerCount; ++i) {
    const Layer& layer = kLayers[i];
    filters.emplace_back(encoder.filters[i]);
    pairs.push_back(operators.find_pairs(layer, space, sites));
    sums.push_back(operators.convolve(layer, pairs[i], inputs[i], filters[i], static_cast<int64_t>(sites.size())));
    inputs.push_back(softplus(sums[i]));
    space = output_space(layer, space);
  }
  Matrix<F> grad(inputs.back().rows, inputs.back().columns);
  std::fill(grad.values.begin(), grad.values.end(), F{1});
  std::vector<Matrix<F>> grad_filters;
  for (size_t i = kLayerCount; i-- > 0;) {
    const Matrix<F> grad_sums = softplus_grad(sums[i], grad);
    grad_filters.push_back(operators.grad_filters(kLayers[i], pairs[i], inputs[i], grad_sums));
    grad = operators.grad_features(kLayers[i], pairs[i], grad_sums, filters[i]);
  }
  return {sites, inputs.back(), grad, grad_filters};
}

TEST(NetworksCenterPoint, SparseEncoder) {
  auto random = seeded_random();
  const Encoder encoder = encoder_of_scans(random);
  EXPECT_GT(encoder.sites.size(), 1000U);
  const auto expected = encode(encoder, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const auto found = encode(encoder, Library{handle});
    ASSERT_EQ(found.sites, expected.sites);
    expect_near(found.output, expected.output, 1e-5);
    expect_near(found.grad_features, expected.grad_features, 1e-5);
    for (size_t i = 0; i < kLayerCount; ++i) {
      SCOPED_TRACE(kLayerCount - 1 - i);
      expect_near(found.grad_filters[i], expected.grad_filters[i], 1e-5);
    }
  }
}

// The reference itself: central differences of the sum of the output.
TEST(NetworksCenterPoint, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  Encoder encoder = encoder_of_scans(random, 30);
  const auto result = encode(encoder, Reference{});
  const auto loss = [&] {
    const auto output = encode(encoder, Reference{}).output;
    return std::accumulate(output.values.begin(), output.values.end(), 0.0);
  };
  expect_gradient(loss, {{&encoder.features.values[100], result.grad_features.values[100]},
                         {&encoder.filters[0].values[900], result.grad_filters[6].values[900]},
                         {&encoder.filters[3].values[14000], result.grad_filters[3].values[14000]},
                         {&encoder.filters[6].values[5000], result.grad_filters[0].values[5000]}});
}

// The same bits with any number of threads, forward and backward.
TEST(NetworksCenterPoint, ThreadCounts) {
  auto random = seeded_random();
  const Encoder encoder = encoder_of_scans(random);
  const auto run = [&](int count) {
    const ScopedThreads threads(count);
    const Handle handle;
    return encode(encoder, Library{handle});
  };
  const auto expected = run(1);
  for (const int count : {2, 5, 16}) {
    SCOPED_TRACE(count);
    const auto found = run(count);
    EXPECT_EQ(found.output.values, expected.output.values);
    EXPECT_EQ(found.grad_features.values, expected.grad_features.values);
    for (size_t i = 0; i < kLayerCount; ++i) {
      EXPECT_EQ(found.grad_filters[i].values, expected.grad_filters[i].values);
    }
  }
}

}  // namespace
}  // namespace mluop::test
