#include "case/operators/shared/stacked_clouds.h"

#include <algorithm>

namespace mluop::cases {

Tensor draw_counts(const std::string& id, int64_t clouds, int64_t rows, int32_t seed) {
  checked_product({clouds});
  Integers random(seed);
  std::vector<int32_t> counts(static_cast<size_t>(clouds));
  for (int32_t& count : counts) {
    const bool is_last = &count == &counts.back();
    if (is_last) {
      count = static_cast<int32_t>(rows);
    } else if (random.below(4) > 0) {
      count = random.below(rows + 1);
    }
    rows -= count;
  }
  return with_values(make_tensor(id, MLUOP_DTYPE_INT32, {clouds}), counts);
}

Reduction cloud_rows_reduction(const std::string& name, size_t rows, size_t counts,
                               std::vector<std::pair<size_t, int>> result_dims) {
  return {name, [rows](const Case& c) { return c.inputs[rows].dims[0]; },
          [rows, counts](Case& c, const std::vector<int64_t>& kept) {
            c.inputs[rows] = slices_of(c.inputs[rows], 0, kept);
            std::vector<int32_t> numbers = values_of<int32_t>(c.inputs[counts]);
            auto first = kept.begin();
            int64_t end = 0;
            for (int32_t& number : numbers) {
              end += number;
              const auto last = std::lower_bound(first, kept.end(), end);
              number = static_cast<int32_t>(last - first);
              first = last;
            }
            c.inputs[counts] = with_values(c.inputs[counts], numbers);
          },
          std::move(result_dims)};
}

}  // namespace mluop::cases
