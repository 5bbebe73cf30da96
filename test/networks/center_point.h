// The sparse middle encoder of CenterPoint: index pairs, submanifold and strided convolutions with residual
// connections, forward and backward. Without batch normalization.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "networks/dense_layers.h"
#include "networks/tensor.h"
#include "support/indice_pairs.h"

namespace mluop::test::center_point {

struct Layer {
  int64_t Ci, Co;
  SparseConvolution sparse;
  bool residual = false;  // adds the input of the layer before to its sums
};

// Output sites from `first` to before `last` in each coordinate.
struct Window {
  Site first{}, last;

  bool contains(const Site& site) const {
    for (size_t i = 0; i < site.size(); ++i) {
      if (site[i] < first[i] || site[i] >= last[i]) return false;
    }
    return true;
  }
};

inline constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
inline constexpr Window kEverywhere = {{}, {kNoLimit, kNoLimit, kNoLimit, kNoLimit}};

struct Encoder {
  Site grid;
  std::vector<Layer> layers;
  std::vector<Site> sites;
  Matrix<float> features;
  std::vector<Matrix<float>> filters;  // of the layers [offsets * Ci, Co]
  Window loss = kEverywhere;           // the gradient of the output is one at these sites, zero at others
};

inline Encoder random_encoder(const Site& grid, std::vector<Layer> layers, std::vector<Site> sites,
                              std::mt19937& random) {
  const auto count = static_cast<int64_t>(sites.size());
  Encoder encoder{grid, std::move(layers), std::move(sites), {}, {}};
  encoder.features = random_matrix(count, encoder.layers[0].Ci, 1, random);
  for (const Layer& layer : encoder.layers) {
    const float magnitude = 1 / std::sqrt(static_cast<float>(4 * layer.Ci));
    encoder.filters.push_back(random_matrix(layer.sparse.offsets() * layer.Ci, layer.Co, magnitude, random));
  }
  return encoder;
}

// What a forward pass keeps for the backward pass. sums[i] are those of layer i, inputs[i + 1] its output.
template <class F, class Pairs>
struct Activations {
  std::vector<Pairs> pairs;
  std::vector<size_t> pairs_of;  // of the layers: submanifold layers with the same sites share index pairs
  std::vector<Matrix<F>> inputs, sums;
  std::vector<Site> sites;  // of the output

  const Matrix<F>& output() const { return inputs.back(); }
};

template <class F>
struct Gradients {
  Matrix<F> features;
  std::vector<Matrix<F>> filters;  // of the layers
};

template <class Operators, class Dense = DenseLayers<typename Operators::Float>>
auto forward(const Encoder& encoder, const Operators& operators, const Dense& dense = {}) {
  using F = typename Operators::Float;
  Activations<F, typename Operators::Pairs> result;
  result.sites = encoder.sites;
  result.inputs.emplace_back(encoder.features);
  Site grid = encoder.grid;
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    const Layer& layer = encoder.layers[i];
    const auto& [kernel, stride, padding, dilation, submanifold] = layer.sparse;
    const bool shares_pairs = i > 0 && submanifold && encoder.layers[i - 1].sparse.submanifold &&
                              kernel == encoder.layers[i - 1].sparse.kernel;
    if (!shares_pairs) result.pairs.push_back(operators.find_pairs(layer, grid, result.sites));
    result.pairs_of.push_back(result.pairs.size() - 1);
    result.sums.push_back(operators.convolve(layer, result.pairs.back(), result.inputs[i],
                                             as<F>(encoder.filters[i]),
                                             static_cast<int64_t>(result.sites.size())));
    if (layer.residual) dense.add(result.sums[i], result.inputs[i - 1]);
    result.inputs.push_back(dense.squareplus(result.sums[i]));
    grid = output_grid(grid, layer.sparse);
  }
  return result;
}

template <class Operators, class Dense = DenseLayers<typename Operators::Float>>
auto backward(const Encoder& encoder,
              const Activations<typename Operators::Float, typename Operators::Pairs>& activations,
              const Operators& operators, const Dense& dense = {}) {
  using F = typename Operators::Float;
  const auto& [pairs, pairs_of, inputs, sums, sites] = activations;
  Gradients<F> gradients;
  gradients.filters.resize(encoder.layers.size());
  Matrix<F> grad(inputs.back().rows, inputs.back().columns), residual_grad;
  for (size_t row = 0; row < sites.size(); ++row) {
    std::fill_n(grad[static_cast<int64_t>(row)], grad.columns, encoder.loss.contains(sites[row]) ? F{1} : F{0});
  }
  for (size_t i = encoder.layers.size(); i-- > 0;) {
    const Layer& layer = encoder.layers[i];
    const auto& layer_pairs = pairs[pairs_of[i]];
    Matrix<F> sums_grad = dense.squareplus_grad(sums[i], grad);
    gradients.filters[i] = operators.grad_filters(layer, layer_pairs, inputs[i], sums_grad);
    grad = operators.grad_features(layer, layer_pairs, sums_grad, as<F>(encoder.filters[i]));
    if (i + 1 < encoder.layers.size() && encoder.layers[i + 1].residual) dense.add(grad, residual_grad);
    if (layer.residual) residual_grad = std::move(sums_grad);
  }
  gradients.features = std::move(grad);
  return gradients;
}

}  // namespace mluop::test::center_point
