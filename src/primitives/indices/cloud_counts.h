// Row counts of stacked clouds: the rows of all clouds, one cloud after another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/arena.h"
#include "core/checks.h"
#include "team/split.h"

namespace mluop {

// Throws Failure (BAD_PARAM) if a count is negative, or if the counts do not add up to `rows`. `tensor`: the
// tensor of the rows.
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

// The first row of each cloud, or its first element of another kind that each cloud has a number of.
struct CloudStarts {
  CloudStarts(Arena& arena, int64_t cloud_count)
      : clouds(cloud_count), starts(arena.take<int64_t>("cloud starts", {clouds + 1})) {}

  // count_of(b): the number of elements of cloud b.
  template <class CountOf>
  void sum(const CountOf& count_of) const {
    starts[0] = 0;
    for (int64_t b = 0; b < clouds; ++b) starts[b + 1] = starts[b] + count_of(b);
  }

  Range rows_of(int64_t b) const { return {starts[b], starts[b + 1]}; }
  int64_t total() const { return starts[clouds]; }
  int64_t cloud_of(int64_t row) const { return std::upper_bound(starts, starts + clouds, row) - starts - 1; }

  int64_t clouds;
  int64_t* starts;  // [clouds + 1]
};

}  // namespace mluop
