#include "reference/site_pairs.h"

#include <algorithm>
#include <array>
#include <map>

namespace mluop::reference {

void site_pairs(const SitePairsProblem& problem, int32_t* indice_pairs, int32_t* indice_num) {
  const int64_t N = problem.N, D = problem.D;
  using Site = std::array<int64_t, 8>;
  const auto site_of = [D](const int32_t* row) {
    Site site{};
    std::copy_n(row, D + 1, site.begin());
    return site;
  };
  std::map<Site, int32_t> input_of;
  for (int64_t i = 0; i < N; ++i) input_of.emplace(site_of(problem.inputs + i * (D + 1)), static_cast<int32_t>(i));
  std::fill_n(indice_pairs, problem.K * 2 * N, -1);
  for (int64_t k = 0; k < problem.K; ++k) {
    int32_t* const pairs = indice_pairs + k * 2 * N;
    int64_t count = 0;
    for (int64_t o = 0; o < problem.M; ++o) {
      Site site = site_of(problem.outputs + o * (D + 1));
      for (int64_t d = 0; d < D; ++d) site[static_cast<size_t>(d + 1)] += problem.offsets[k * D + d];
      const auto found = input_of.find(site);
      if (found == input_of.end()) continue;
      pairs[count] = found->second;
      pairs[N + count++] = static_cast<int32_t>(o);
    }
    indice_num[k] = static_cast<int32_t>(count);
  }
}

}  // namespace mluop::reference
