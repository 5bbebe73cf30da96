// The operators of the sparse encoder, computed by the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "networks/center_point.h"
#include "support/api.h"

namespace mluop::test::center_point {

struct Library {
  using Float = float;
  struct Pairs {
    int64_t inputs;
    Values<int32_t> pairs;        // [offsets, 2, inputs]
    std::vector<int64_t> counts;  // [offsets]
  };

  // Replaces the sites of the input by those of the output.
  Pairs find_pairs(const Layer& layer, const Site& grid, std::vector<Site>& sites) const {
    const auto L = static_cast<int64_t>(sites.size());
    const int64_t K = layer.sparse.offsets();
    const Site out_grid = output_grid(grid, layer.sparse);
    const int64_t cells = int64_t{out_grid[0]} * out_grid[1] * out_grid[2] * out_grid[3];
    const int64_t capacity = layer.sparse.submanifold ? L : std::min(L * K, cells);
    const auto& [kernel, stride, padding, dilation, submanifold] = layer.sparse;
    const SparseConvolutionDescriptor convolution;
    require(mluOpSetSparseConvolutionDescriptor(convolution, 5, grid[0], padding.data(), stride.data(),
                                                dilation.data(), &grid[1], kernel.data(), &out_grid[1],
                                                submanifold ? 1 : 0, 0, 0));
    const Descriptor indices(MLUOP_DTYPE_INT32, {L, 4}), pairs(MLUOP_DTYPE_INT32, {K, 2, L});
    const Descriptor out_indices(MLUOP_DTYPE_INT32, {capacity, 4}), indice_num(MLUOP_DTYPE_INT32, {K});
    size_t bytes = 0;
    require(
        mluOpGetIndicePairsWorkspaceSize(handle, convolution, indices, pairs, out_indices, indice_num, &bytes));
    Values<char> workspace(bytes);
    Values<Site> out_sites(static_cast<size_t>(capacity));
    std::vector<int32_t> counts(static_cast<size_t>(K));
    Pairs result{L, Values<int32_t>(static_cast<size_t>(K * 2 * L)), {}};
    require(mluOpGetIndicePairs(handle, convolution, indices, sites.data(), workspace.data(), bytes, pairs,
                                result.pairs.data(), out_indices, out_sites.data(), indice_num, counts.data()));
    int count = 0;
    require(mluOpGetSparseConvolutionNumActOut(convolution, &count));
    sites.assign(out_sites.begin(), out_sites.begin() + count);
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
                                                          layer.sparse.submanifold, &bytes));
    Values<char> workspace(bytes);
    require(mluOpIndiceConvolutionForward(handle, tensors.input, features.data(), tensors.filters, filters.data(),
                                          tensors.pairs, pairs.pairs.data(), pairs.counts.data(), outputs, 0,
                                          layer.sparse.submanifold, workspace.data(), bytes, tensors.output,
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
    Values<char> workspace(bytes);
    require(mluOpIndiceConvolutionBackwardData(
        handle, tensors.output, grad.data(), tensors.filters, filters.data(), tensors.pairs, pairs.pairs.data(),
        pairs.counts.data(), 0, layer.sparse.submanifold, workspace.data(), bytes, tensors.input, result.data()));
    return result;
  }

  Matrix<float> grad_filters(const Layer& layer, const Pairs& pairs, const Matrix<float>& features,
                             const Matrix<float>& grad) const {
    Matrix<float> result(layer.sparse.offsets() * layer.Ci, layer.Co);
    const Tensors tensors(layer, pairs, grad.rows);
    size_t bytes = 0;
    require(mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(
        handle, tensors.input, tensors.output, tensors.pairs, tensors.filters, pairs.counts.data(), 0,
        layer.sparse.submanifold, &bytes));
    Values<char> workspace(bytes);
    require(mluOpIndiceConvolutionBackwardFilter(handle, tensors.input, features.data(), tensors.output,
                                                 grad.data(), tensors.pairs, pairs.pairs.data(),
                                                 pairs.counts.data(), 0, layer.sparse.submanifold,
                                                 workspace.data(), bytes, tensors.filters, result.data()));
    return result;
  }

  // Features, or their gradients, at the inputs and outputs of a layer, and its filters.
  struct Tensors {
    Tensors(const Layer& layer, const Pairs& index_pairs, int64_t outputs)
        : input(MLUOP_DTYPE_FLOAT, {index_pairs.inputs, layer.Ci}),
          output(MLUOP_DTYPE_FLOAT, {outputs, layer.Co}),
          filters(MLUOP_DTYPE_FLOAT,
                  {layer.sparse.kernel[0], layer.sparse.kernel[1], layer.sparse.kernel[2], layer.Ci, layer.Co}),
          pairs(MLUOP_DTYPE_INT32, {layer.sparse.offsets(), 2, index_pairs.inputs}) {}

    Descriptor input, output, filters, pairs;
  };

  mluOpHandle_t handle;
};

}  // namespace mluop::test::center_point
