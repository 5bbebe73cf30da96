// Convolution of a dense tensor by its definition.
#pragma once

#include <vector>

#include "support/scenes.h"

namespace mluop::reference {

// The input on `grid` has the features [sites, Ci] at the sites and is 0 elsewhere, including outside the grid;
// filters are [Co, D, H, W, Ci]. Returns the rows of the sites `outputs`, sums in double rounded to float.
std::vector<float> dense_convolution_rows(const test::Site& grid, const std::vector<test::Site>& sites,
                                          const test::SparseConvolution& convolution,
                                          const std::vector<test::Site>& outputs,
                                          const std::vector<float>& features, const std::vector<float>& filters);

}  // namespace mluop::reference
