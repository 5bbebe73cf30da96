#include "support/indice_pairs.h"

#include <algorithm>
#include <optional>

namespace mluop::test {
namespace {

// The coordinate of the output along one axis that adds `input` through filter offset `k`; nullopt if there is
// none.
std::optional<int32_t> output_of(const SparseConvolution& convolution, size_t axis, int32_t input, int32_t k,
                                 int32_t output_extent) {
  const int32_t scaled = input + convolution.padding[axis] - k * convolution.dilation[axis];
  if (scaled < 0 || scaled % convolution.stride[axis] != 0) return std::nullopt;
  const int32_t output = scaled / convolution.stride[axis];
  return output < output_extent ? std::optional(output) : std::nullopt;
}

}  // namespace

SparseConvolution submanifold(const Extent& kernel, const Extent& dilation) {
  SparseConvolution convolution{kernel, {1, 1, 1}, {0, 0, 0}, dilation, true};
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    convolution.padding[axis] = kernel[axis] / 2 * dilation[axis];
  }
  return convolution;
}

Site output_grid(const Site& grid, const SparseConvolution& convolution) {
  if (convolution.submanifold) return grid;
  Site output = grid;
  for (size_t axis = 0; axis < convolution.kernel.size(); ++axis) {
    const int32_t reach = convolution.dilation[axis] * (convolution.kernel[axis] - 1);
    const int32_t span = grid[axis + 1] + 2 * convolution.padding[axis] - reach - 1;
    output[axis + 1] = span < 0 ? 0 : span / convolution.stride[axis] + 1;
  }
  return output;
}

std::vector<Contribution> contributions(const Site& input, const Site& output_grid,
                                        const SparseConvolution& convolution) {
  const auto& [depth, height, width] = convolution.kernel;
  std::vector<Contribution> found;
  for (int32_t kz = 0; kz < depth; ++kz) {
    const auto z = output_of(convolution, 0, input[1], kz, output_grid[1]);
    if (!z) continue;
    for (int32_t ky = 0; ky < height; ++ky) {
      const auto y = output_of(convolution, 1, input[2], ky, output_grid[2]);
      if (!y) continue;
      for (int32_t kx = 0; kx < width; ++kx) {
        const auto x = output_of(convolution, 2, input[3], kx, output_grid[3]);
        if (x) found.push_back({(kz * height + ky) * width + kx, {input[0], *z, *y, *x}});
      }
    }
  }
  return found;
}

IndicePairs indice_pairs(const std::vector<Site>& inputs, const Site& grid, const SparseConvolution& convolution) {
  const Site outputs_on = output_grid(grid, convolution);
  SiteSet outputs(outputs_on);
  for (const Site& input : inputs) {
    if (convolution.submanifold) {
      outputs.insert(input);
    } else {
      for (const Contribution& contribution : contributions(input, outputs_on, convolution))
        outputs.insert(contribution.output);
    }
  }
  outputs.number();

  const auto offsets = static_cast<size_t>(convolution.offsets());
  IndicePairs result{std::vector<int32_t>(offsets * 2 * inputs.size(), -1), std::vector<int64_t>(offsets),
                     outputs.sites()};
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const Contribution& contribution : contributions(inputs[i], outputs_on, convolution)) {
      const int32_t output = outputs.find(contribution.output);
      if (output < 0) continue;
      const auto k = static_cast<size_t>(contribution.k);
      const size_t place = k * 2 * inputs.size() + static_cast<size_t>(result.num[k]++);
      result.pairs[place] = static_cast<int32_t>(i);
      result.pairs[place + inputs.size()] = output;
    }
  }
  return result;
}

}  // namespace mluop::test
