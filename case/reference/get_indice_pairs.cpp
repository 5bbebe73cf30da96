#include "reference/get_indice_pairs.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace mluop::reference {
namespace {

using Site = IndicePairsProblem::Site;

uint64_t cell_of(const IndicePairsProblem& problem, const Site& site) {
  auto cell = static_cast<uint64_t>(site[0]);
  for (size_t axis = 0; axis < 3; ++axis) {
    cell = cell * static_cast<uint64_t>(problem.output_space[axis]) + static_cast<uint64_t>(site[axis + 1]);
  }
  return cell;
}

std::optional<Site> output_of(const IndicePairsProblem& problem, const Site& input, const Site& offset) {
  Site output = input;
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t scaled =
        int64_t{input[axis + 1]} + problem.pad[axis] - int64_t{offset[axis + 1]} * problem.dilation[axis];
    if (scaled < 0 || scaled % problem.stride[axis] != 0) return std::nullopt;
    const int64_t coordinate = scaled / problem.stride[axis];
    if (coordinate >= problem.output_space[axis]) return std::nullopt;
    output[axis + 1] = static_cast<int32_t>(coordinate);
  }
  return output;
}

// Calls visit(k, offset) for each offset of the filter.
template <class Visit>
void for_each_offset(const IndicePairsProblem& problem, const Visit& visit) {
  size_t k = 0;
  Site offset{};
  for (offset[1] = 0; offset[1] < problem.kernel[0]; ++offset[1]) {
    for (offset[2] = 0; offset[2] < problem.kernel[1]; ++offset[2]) {
      for (offset[3] = 0; offset[3] < problem.kernel[2]; ++offset[3]) visit(k++, offset);
    }
  }
}

std::vector<Site> output_sites(const IndicePairsProblem& problem) {
  if (problem.sub_m) return problem.sites;
  std::vector<Site> outputs;
  for (const Site& input : problem.sites) {
    for_each_offset(problem, [&](size_t, const Site& offset) {
      if (const auto output = output_of(problem, input, offset)) outputs.push_back(*output);
    });
  }
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  return outputs;
}

}  // namespace

IndicePairsResult get_indice_pairs(const IndicePairsProblem& problem) {
  const size_t count = problem.sites.size();
  const auto offsets = static_cast<size_t>(problem.offset_count());
  IndicePairsResult result{std::vector<int32_t>(offsets * 2 * count, -1), output_sites(problem),
                           std::vector<int32_t>(offsets)};
  std::unordered_map<uint64_t, int32_t> rows;
  // The first of repeated sites wins.
  for (size_t row = 0; row < result.outputs.size(); ++row) {
    rows.try_emplace(cell_of(problem, result.outputs[row]), static_cast<int32_t>(row));
  }
  for (size_t l = 0; l < count; ++l) {
    for_each_offset(problem, [&](size_t k, const Site& offset) {
      const auto output = output_of(problem, problem.sites[l], offset);
      if (!output) return;
      const auto row = rows.find(cell_of(problem, *output));
      if (row == rows.end()) return;
      const size_t place = 2 * k * count + static_cast<size_t>(result.indice_num[k]++);
      result.indice_pairs[place] = static_cast<int32_t>(l);
      result.indice_pairs[place + count] = row->second;
    });
  }
  return result;
}

}  // namespace mluop::reference
