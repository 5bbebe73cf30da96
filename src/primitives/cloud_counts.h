// Counts of the rows of stacked clouds: the rows of a cloud follow those of the cloud before.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/checks.h"

namespace mluop {

// Throws Failure (BAD_PARAM) if a count is negative, or if the clouds do not have `rows` rows together. `tensor`:
// the tensor of the rows.
inline void check_cloud_counts(std::string_view name, const int32_t* counts, int64_t clouds,
                               std::string_view tensor, int64_t rows) {
  int64_t sum = 0;
  for (int64_t b = 0; b < clouds; ++b) {
    require(counts[b] >= 0, MLUOP_STATUS_BAD_PARAM, name, "[", b, "] is ", counts[b], ", expected at least 0");
    sum += counts[b];
  }
  require(rows == sum, MLUOP_STATUS_BAD_PARAM, tensor, " dim 0 is ", rows, ", expected the sum of ", name,
          ", which is ", sum);
}

}  // namespace mluop
