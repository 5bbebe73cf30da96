// Stacked clouds: the rows of all clouds, one cloud after another, and a tensor with the number of rows of each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "case/description.h"

namespace mluop::cases {

// Counts of `clouds` clouds with `rows` rows in total; some clouds are empty.
Tensor draw_counts(const std::string& id, int64_t clouds, int64_t rows, int32_t seed);

// Slices the rows of the input `rows`, whose counts are the input `counts`. result_dims: as in Reduction.
Reduction cloud_rows_reduction(const std::string& name, size_t rows, size_t counts,
                               std::vector<std::pair<size_t, int>> result_dims = {});

}  // namespace mluop::cases
