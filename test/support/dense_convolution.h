// Convolution of a dense tensor by its definition: the oracle of sparse convolutions and of index pairs.
#pragma once

#include <cstddef>
#include <vector>

#include "support/indice_pairs.h"

namespace mluop::reference {

// input [grid, Ci], filters [Co, D, H, W, Ci]; returns the output [output_grid(grid, convolution), Co] in double.
// The input is 0 outside the grid. For a submanifold convolution, only the sites of the input are valid outputs.
std::vector<double> dense_convolution(const test::Site& grid, const test::SparseConvolution& convolution, int Ci,
                                      int Co, const std::vector<double>& input,
                                      const std::vector<double>& filters);

// The index of the first channel of a site in a dense tensor.
size_t dense_index(const test::Site& grid, const test::Site& site, int channels);

}  // namespace mluop::reference
