// Reductions of cases with index pairs, whose third input is indice_pairs [K, 2, L].
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "case/operators.h"

namespace mluop::cases {

// Positions of the dimensions of filters in any layout.
struct FilterDims {
  size_t first_offset, Ci, Co;
};

FilterDims filter_dims(mluOpTensorLayout_t layout, size_t rank);
inline FilterDims filter_dims(const Tensor& filters) { return filter_dims(filters.layout, filters.dims.size()); }

using ResultDims = std::vector<std::pair<size_t, int>>;  // Reduction::result_dims

Reduction pairs_reduction();
// The rows of features (side 0), equal in number to the places of indice_pairs. input: whether features are an
// input.
Reduction input_rows_reduction(bool input, const ResultDims& result_dims = {});
// The rows of output_grad, if `input` names it, or of features_out.
Reduction output_rows_reduction(std::optional<size_t> input, const ResultDims& result_dims = {});
// Channels of filters (the second input) and of an input [rows, channels] that has them.
Reduction channels_reduction(const char* name, size_t FilterDims::*channel, std::optional<size_t> input,
                             const ResultDims& result_dims = {});

}  // namespace mluop::cases
