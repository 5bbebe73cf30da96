// Which input site meets which output site in a sparse convolution: what mmcv and spconv compute before they
// convolve. Shares nothing with the library.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "support/site_set.h"

namespace mluop::test {

using Extent = std::array<int32_t, 3>;  // along z, y, x

// The site o of the output takes in, through filter element k, the site o * stride - padding + k * dilation.
struct SparseConvolution {
  Extent kernel;
  Extent stride = {1, 1, 1}, padding = {0, 0, 0}, dilation = {1, 1, 1};
  // The outputs are the input's sites and no others, centred; stride and padding follow.
  bool submanifold = false;

  int offsets() const { return kernel[0] * kernel[1] * kernel[2]; }
};

SparseConvolution submanifold(const Extent& kernel, const Extent& dilation = {1, 1, 1});

// Of the output, for an input on `grid`.
Site output_grid(const Site& grid, const SparseConvolution& convolution);

// An output site and the filter element through which it takes in the input site in question.
struct Meeting {
  int32_t k;
  Site output;
};

// Of one input site, by k. Without regard to submanifold.
std::vector<Meeting> meetings(const Site& input, const Site& output_grid, const SparseConvolution& convolution);

struct IndicePairs {
  std::vector<int32_t> pairs;  // [offsets, 2, inputs]: of input, of output; -1 where there is none
  std::vector<int64_t> num;    // [offsets]
  std::vector<Site> outputs;   // numbered by (batch, z, y, x)
};

// Inputs are distinct sites of `grid` in any order. The pairs of an offset are in the order of the inputs.
IndicePairs indice_pairs(const std::vector<Site>& inputs, const Site& grid, const SparseConvolution& convolution);

}  // namespace mluop::test
