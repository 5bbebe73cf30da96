// The operators of the step to bird's-eye view, computed by the library.
#pragma once

#include <vector>

#include "networks/bev_depth.h"
#include "support/api.h"

namespace mluop::test::bev_depth {

struct Library {
  using Float = float;

  // Writes the cells of the points to `memo`.
  Matrix<float> pool(const Sizes& sizes, const std::vector<Cell>& cells, const Matrix<float>& features,
                     Values<Cell>& memo) const {
    const Tensors tensors(sizes);
    auto output = zeros<float>(sizes.output_rows(), sizes.channels);
    memo.resize(cells.size());
    require(mluOpVoxelPoolingForward(handle, sizes.batches, sizes.points(), sizes.channels, sizes.cells_x,
                                     sizes.cells_y, sizes.cells_z, tensors.cells, cells.data(), tensors.features,
                                     features.data(), tensors.grid, output.data(), tensors.cells, memo.data()));
    return output;
  }

  Matrix<float> pool_grad(const Sizes& sizes, const Values<Cell>& memo, const Matrix<float>& grad) const {
    const Tensors tensors(sizes);
    Matrix<float> features(int64_t{sizes.batches} * sizes.points(), sizes.channels);
    require(mluOpOmpVoxelPoolingBackward(handle, tensors.grid, grad.data(), tensors.cells, memo.data(),
                                         tensors.features, features.data()));
    return features;
  }

  // Cells and features of the points, features of the grid.
  struct Tensors {
    explicit Tensors(const Sizes& sizes, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT)
        : cells(MLUOP_DTYPE_INT32, {sizes.batches, sizes.points(), 3}),
          features(dtype, {sizes.batches, sizes.points(), sizes.channels}),
          grid(dtype, {sizes.batches, sizes.cells_y, sizes.cells_x, sizes.channels}) {}

    Descriptor cells, features, grid;
  };

  mluOpHandle_t handle;
};

}  // namespace mluop::test::bev_depth
