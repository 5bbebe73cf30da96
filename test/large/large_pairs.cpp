#include "large/large_pairs.h"

#include <set>

namespace mluop::test {
namespace {

std::vector<int64_t> random_rows(int64_t rows, int64_t count, std::mt19937& random) {
  std::set<int64_t> chosen;
  const auto chosen_count = [&] { return static_cast<int64_t>(chosen.size()); };
  while (chosen_count() < count / 10) chosen.insert(rows - 1 - chosen_count());
  while (chosen_count() < count) chosen.insert(static_cast<int64_t>(random()) % rows);
  return {chosen.begin(), chosen.end()};
}

}  // namespace

LargePairs::LargePairs(const IndiceConvolutionSizes& small, const std::vector<int32_t>& small_pairs,
                       const std::vector<int64_t>& indice_num, int64_t in_rows, int64_t out_rows,
                       std::mt19937& random)
    : sizes(small),
      in(random_rows(in_rows, small.num_act_in, random)),
      out(random_rows(out_rows, small.num_act_out, random)),
      pairs(small.K() * 2 * in_rows, Pages::kSparse) {
  sizes.num_act_in = in_rows;
  sizes.num_act_out = out_rows;
  for (int64_t k = 0; k < sizes.K(); ++k) {
    for (int64_t l = 0; l < indice_num[static_cast<size_t>(k)]; ++l) {
      for (int64_t side = 0; side < 2; ++side) {
        const int32_t index = small_pairs[static_cast<size_t>((k * 2 + side) * small.num_act_in + l)];
        const auto& rows = side == 0 ? in : out;
        // A pair that is skipped has a negative index and any other one.
        const bool is_row = index >= 0 && static_cast<size_t>(index) < rows.size();
        pairs[(k * 2 + side) * in_rows + l] =
            is_row ? static_cast<int32_t>(rows[static_cast<size_t>(index)]) : index;
      }
    }
  }
}

}  // namespace mluop::test
