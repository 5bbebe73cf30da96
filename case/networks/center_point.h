// The sparse middle encoder of CenterPoint: index pairs, submanifold and strided convolutions with residual
// connections, forward and backward. Without batch normalization.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "case/networks/dense_layers.h"
#include "case/networks/operators.h"
#include "case/networks/tensor.h"
#include "case/scenes/indice_pairs.h"

namespace mluop::networks::center_point {

struct Layer {
  int64_t Ci, Co;
  scenes::SparseConvolution sparse;
  bool residual = false;  // adds the input of the layer before to its sums
};

// Output sites from `first` to before `last` in each coordinate.
struct Window {
  scenes::Site first{}, last;

  bool contains(const scenes::Site& site) const {
    for (size_t i = 0; i < site.size(); ++i) {
      if (site[i] < first[i] || site[i] >= last[i]) return false;
    }
    return true;
  }
};

inline constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
inline constexpr Window kEverywhere = {{}, {kNoLimit, kNoLimit, kNoLimit, kNoLimit}};

struct Encoder {
  scenes::Site grid;
  std::vector<Layer> layers;
  std::vector<scenes::Site> sites;
  Matrix features;
  std::vector<Matrix> filters;  // of the layers [offsets * Ci, Co]
  Window loss = kEverywhere;    // the gradient of the output is one at these sites, zero at others
};

inline Encoder random_encoder(const scenes::Site& grid, std::vector<Layer> layers, std::vector<scenes::Site> sites,
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

struct Pairs {
  int64_t inputs;
  Values<int32_t> pairs;        // [offsets, 2, inputs]
  std::vector<int64_t> counts;  // [offsets]
};

// Replaces the input sites by the output sites.
inline Pairs find_pairs(const Operators& operators, const scenes::SparseConvolution& sparse,
                        const scenes::Site& grid, std::vector<scenes::Site>& sites) {
  const int64_t inputs = std::ssize(sites), offsets = sparse.offsets();
  const scenes::Site out_grid = scenes::output_grid(grid, sparse);
  const int64_t cells = int64_t{out_grid[0]} * out_grid[1] * out_grid[2] * out_grid[3];
  const int64_t capacity = sparse.submanifold ? inputs : std::min(inputs * offsets, cells);
  const int64_t sub_m = sparse.submanifold ? 1 : 0;
  cases::Parameters arguments =
      parameters({{"dimnb", 5}, {"batch", grid[0]}, {"sub_m", sub_m}, {"transpose", 0}, {"inverse", 0}});
  for (const auto& [name, extent] : {std::pair{"pad", sparse.padding.data()},
                                     {"stride", sparse.stride.data()},
                                     {"dilation", sparse.dilation.data()},
                                     {"input_space", &grid[1]},
                                     {"filter_space", sparse.kernel.data()},
                                     {"output_space", &out_grid[1]}}) {
    arguments.set(name, std::vector<int64_t>(extent, extent + 3));
  }
  Values<scenes::Site> out_sites(static_cast<size_t>(capacity));
  Values<int32_t> counts(static_cast<size_t>(offsets));
  Pairs result{inputs, Values<int32_t>(static_cast<size_t>(offsets * 2 * inputs)), {}};
  operators.call("get_indice_pairs",
                 {tensor(sites.data()->data(), {inputs, 4}), tensor(out_sites.data()->data(), {capacity, 4}),
                  tensor(result.pairs.data(), {offsets, 2, inputs}), tensor(counts.data(), {offsets})},
                 arguments);
  result.counts.assign(counts.begin(), counts.end());
  // Each site of the output has pairs.
  int32_t outputs = 0;
  for (int64_t k = 0; k < offsets; ++k) {
    const int32_t* const rows = &result.pairs[static_cast<size_t>((2 * k + 1) * inputs)];
    for (int64_t p = 0; p < result.counts[static_cast<size_t>(k)]; ++p) outputs = std::max(outputs, rows[p] + 1);
  }
  sites.assign(out_sites.begin(), out_sites.begin() + outputs);
  return result;
}

// Calls the convolution, or one of its gradients, on two of features, filters and gradient of the output.
inline void convolve(const Operators& operators, const std::string& op, const Layer& layer, const Pairs& pairs,
                     const cases::Operand& left, const cases::Operand& right, const cases::Operand& result) {
  cases::Parameters arguments =
      parameters({{"num_active_out", result.dim(0)}, {"inverse", 0}, {"sub_m", layer.sparse.submanifold ? 1 : 0}});
  arguments.set("indice_num", pairs.counts);
  const auto index_pairs = tensor(pairs.pairs.data(), {layer.sparse.offsets(), 2, pairs.inputs});
  operators.call(op, {left, right, index_pairs, result}, arguments);
}

inline cases::Operand tensor_of_filters(const Layer& layer, const Matrix& filters) {
  const auto& [depth, height, width] = layer.sparse.kernel;
  return tensor(filters, {depth, height, width, layer.Ci, layer.Co});
}

// The forward pass, and the backward pass if the network `trains`. Indices of the result: the sites of the output,
// and the number of index pairs of each layer.
template <class Dense = DenseLayers<>>
Result compute(const Encoder& encoder, const Operators& operators, bool trains = true, const Dense& dense = {}) {
  Result result{std::vector<Values<int32_t>>(2), {}, {}};
  std::vector<Pairs> pairs;
  std::vector<size_t> pairs_of;  // of the layers: submanifold layers with the same sites share index pairs
  std::vector<Matrix> inputs = {encoder.features}, sums;  // of the layers; inputs[i + 1] is the output of layer i
  std::vector<scenes::Site> sites = encoder.sites;
  scenes::Site grid = encoder.grid;
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    const Layer& layer = encoder.layers[i];
    const bool shares_pairs = i > 0 && layer.sparse.submanifold && encoder.layers[i - 1].sparse.submanifold &&
                              layer.sparse.kernel == encoder.layers[i - 1].sparse.kernel;
    if (!shares_pairs) pairs.push_back(find_pairs(operators, layer.sparse, grid, sites));
    pairs_of.push_back(pairs.size() - 1);
    const std::vector<int64_t>& counts = pairs.back().counts;
    result.indices[1].push_back(std::accumulate(counts.begin(), counts.end(), int32_t{0}));
    Matrix& output = sums.emplace_back(std::ssize(sites), layer.Co);
    convolve(operators, "indice_convolution_forward", layer, pairs.back(), tensor(inputs[i]),
             tensor_of_filters(layer, encoder.filters[i]), tensor(output));
    if (layer.residual) dense.add(output, inputs[i - 1]);
    inputs.push_back(dense.squareplus(output));
    grid = scenes::output_grid(grid, layer.sparse);
  }
  for (const scenes::Site& site : sites)
    result.indices[0].insert(result.indices[0].end(), site.begin(), site.end());
  result.output = std::move(inputs.back());
  if (!trains) return result;

  result.gradients.resize(1 + encoder.layers.size());
  Matrix grad(result.output.rows, result.output.columns), residual_grad;
  for (size_t row = 0; row < sites.size(); ++row) {
    std::fill_n(grad[static_cast<int64_t>(row)], grad.columns, encoder.loss.contains(sites[row]) ? 1.0F : 0.0F);
  }
  for (size_t i = encoder.layers.size(); i-- > 0;) {
    const Layer& layer = encoder.layers[i];
    const Matrix& filters = encoder.filters[i];
    Matrix sums_grad = dense.squareplus_grad(sums[i], grad), filters_grad(filters.rows, filters.columns);
    convolve(operators, "indice_convolution_backward_filter", layer, pairs[pairs_of[i]], tensor(inputs[i]),
             tensor(sums_grad), tensor_of_filters(layer, filters_grad));
    result.gradients[i + 1] = {"filters" + std::to_string(i), std::move(filters_grad)};
    grad = Matrix(inputs[i].rows, layer.Ci);
    convolve(operators, "indice_convolution_backward_data", layer, pairs[pairs_of[i]], tensor(sums_grad),
             tensor_of_filters(layer, filters), tensor(grad));
    if (i + 1 < encoder.layers.size() && encoder.layers[i + 1].residual) dense.add(grad, residual_grad);
    if (layer.residual) residual_grad = std::move(sums_grad);
  }
  result.gradients[0] = {"features", std::move(grad)};
  return result;
}

}  // namespace mluop::networks::center_point
