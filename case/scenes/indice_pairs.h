// Index pairs of a sparse convolution: (input site, output site) for each filter offset, as mmcv and spconv
// compute them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "case/scenes/site_set.h"

namespace mluop::scenes {

using Extent = std::array<int32_t, 3>;  // along z, y, x

// The output site o adds input site o * stride - padding + k * dilation through filter offset k.
struct SparseConvolution {
  Extent kernel;
  Extent stride = {1, 1, 1}, padding = {0, 0, 0}, dilation = {1, 1, 1};
  // The output sites are the input sites. submanifold() sets stride and padding accordingly.
  bool submanifold = false;

  int offsets() const { return kernel[0] * kernel[1] * kernel[2]; }
};

SparseConvolution submanifold(const Extent& kernel, const Extent& dilation = {1, 1, 1});

// The grid of the output for an input on `grid`.
Site output_grid(const Site& grid, const SparseConvolution& convolution);

struct IndicePairs {
  std::vector<int32_t> pairs;  // [offsets, 2, inputs]: input index, output index; -1 past the last pair
  std::vector<int64_t> num;    // [offsets]
  std::vector<Site> outputs;   // submanifold: the inputs, otherwise ordered by (batch, z, y, x)
};

// Returns the pairs that the oracle computes for distinct sites of `grid`. The pairs of a filter offset are in the
// order of the inputs.
IndicePairs indice_pairs(const std::vector<Site>& inputs, const Site& grid, const SparseConvolution& convolution);

}  // namespace mluop::scenes
