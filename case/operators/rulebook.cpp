#include "case/operators/rulebook.h"

#include <algorithm>
#include <map>

#include "case/operators/support.h"

namespace mluop::cases {

Rulebook rulebook_of(const Case& the_case) {
  const std::vector<int64_t>& counts = the_case.parameters.list("indice_num");
  const auto pairs = values_of<int32_t>(the_case.inputs[2]);
  const auto L = static_cast<size_t>(the_case.inputs[2].dims[2]);
  Rulebook rulebook(counts.size());
  for (size_t k = 0; k < counts.size(); ++k) {
    for (size_t l = 0; l < static_cast<size_t>(counts[k]); ++l) {
      rulebook[k].push_back({pairs[2 * k * L + l], pairs[(2 * k + 1) * L + l]});
    }
  }
  return rulebook;
}

int64_t pair_count(const Rulebook& rulebook) {
  size_t count = 0;
  for (const auto& offset : rulebook) count += offset.size();
  return static_cast<int64_t>(count);
}

void set_rulebook(Case& the_case, const Rulebook& rulebook, int64_t L) {
  const auto length = static_cast<size_t>(L);
  std::vector<int32_t> pairs(rulebook.size() * 2 * length, -1);
  std::vector<int64_t> counts;
  for (size_t k = 0; k < rulebook.size(); ++k) {
    const size_t count = std::min(rulebook[k].size(), length);
    counts.push_back(static_cast<int64_t>(count));
    for (size_t l = 0; l < count; ++l) {
      for (size_t side = 0; side < 2; ++side) pairs[(2 * k + side) * length + l] = rulebook[k][l][side];
    }
  }
  Tensor& tensor = the_case.inputs[2];
  tensor.dims[2] = L;
  tensor = with_values(tensor, pairs);
  the_case.parameters.set("indice_num", counts);
}

Rulebook kept_pairs(const Rulebook& rulebook, const std::vector<int64_t>& kept) {
  Rulebook result(rulebook.size());
  auto next = kept.begin();
  int64_t position = 0;
  for (size_t k = 0; k < rulebook.size(); ++k) {
    for (const auto& pair : rulebook[k]) {
      if (next != kept.end() && *next == position) {
        result[k].push_back(pair);
        ++next;
      }
      ++position;
    }
  }
  return result;
}

Rulebook with_rows(const Rulebook& rulebook, size_t side, const std::vector<int64_t>& kept) {
  std::map<int64_t, int32_t> numbers;
  for (const int64_t row : kept) numbers.emplace(row, static_cast<int32_t>(numbers.size()));
  Rulebook result(rulebook.size());
  for (size_t k = 0; k < rulebook.size(); ++k) {
    for (auto pair : rulebook[k]) {
      const auto found = numbers.find(pair[side]);
      // A negative index marks a pair that is skipped.
      if (found == numbers.end() && pair[side] >= 0) continue;
      if (found != numbers.end()) pair[side] = found->second;
      result[k].push_back(pair);
    }
  }
  return result;
}

}  // namespace mluop::cases
