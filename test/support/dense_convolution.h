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

// That convolution of a sparse tensor, features [sites, Ci], 0 at other sites: the rows of the sites `outputs`,
// rounded to float.
std::vector<float> dense_convolution_rows(const test::Site& grid, const std::vector<test::Site>& sites,
                                          const test::SparseConvolution& convolution,
                                          const std::vector<test::Site>& outputs,
                                          const std::vector<float>& features, const std::vector<float>& filters);

}  // namespace mluop::reference
