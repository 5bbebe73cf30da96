#include "case/scenes/indice_pairs.h"

#include "reference/get_indice_pairs.h"

namespace mluop::scenes {

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

IndicePairs indice_pairs(const std::vector<Site>& inputs, const Site& grid, const SparseConvolution& convolution) {
  const auto space = [](const Site& of) { return Extent{of[1], of[2], of[3]}; };
  const auto& [kernel, stride, padding, dilation, submanifold] = convolution;
  const auto result = reference::get_indice_pairs({grid[0], space(grid), space(output_grid(grid, convolution)),
                                                   kernel, stride, padding, dilation, submanifold, inputs});
  return {result.indice_pairs, {result.indice_num.begin(), result.indice_num.end()}, result.outputs};
}

}  // namespace mluop::scenes
