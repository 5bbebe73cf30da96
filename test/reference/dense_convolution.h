// Convolution of a dense tensor, by its definition: the oracle of sparse convolutions and their indice pairs.
#pragma once

#include <cstddef>
#include <vector>

#include "support/indice_pairs.h"

namespace mluop::reference {

// input [grid, Ci], filters [Co, D, H, W, Ci]; the output [output_grid(grid, convolution), Co], in double. What
// lies outside the grid is 0. Of a submanifold convolution only the input's sites are meant to be used.
std::vector<double> dense_convolution(const test::Site& grid, const test::SparseConvolution& convolution, int Ci,
                                      int Co, const std::vector<double>& input,
                                      const std::vector<double>& filters);

// Where the channels of a site are in a dense tensor.
size_t dense_place(const test::Site& grid, const test::Site& site, int channels);

}  // namespace mluop::reference
