// Greedy non-maximum suppression by its definition, for oracles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace mluop::reference {

// Visits the boxes in descending order of score, ties by lower index, NaN first. A box is kept unless
// suppresses(i, box) for a box i kept earlier. output [N]: the kept boxes in this order, then zeros.
template <class Suppresses>
void suppress(int64_t N, const float* scores, int32_t* output, int32_t* kept_count, const Suppresses& suppresses) {
  std::vector<size_t> order(static_cast<size_t>(N)), kept;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    return scores[i] > scores[j] || (std::isnan(scores[i]) && !std::isnan(scores[j]));
  });
  for (const size_t i : order) {
    if (std::none_of(kept.begin(), kept.end(), [&](size_t j) { return suppresses(j, i); })) kept.push_back(i);
  }
  std::fill_n(output, N, 0);
  std::transform(kept.begin(), kept.end(), output, [](size_t i) { return static_cast<int32_t>(i); });
  *kept_count = static_cast<int32_t>(kept.size());
}

}  // namespace mluop::reference
