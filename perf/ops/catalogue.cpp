#include "perf/ops/catalogue.h"

#include <algorithm>
#include <utility>

namespace mluop::perf {

std::vector<CaseSpec> all_cases() {
  std::vector<CaseSpec> all;
  for (const auto cases :
       {voxel_pooling_cases,      three_nn_forward_cases,    three_interpolate_cases, ball_query_cases,
        masked_convolution_cases, voxelization_cases,        dynamic_scatter_cases,   get_indice_pairs_cases,
        indice_convolution_cases, center_point_cases,        point_net_cases,         mvx_net_cases,
        bev_depth_cases,          voxel_pooling_cliffs,      three_nn_forward_cliffs, three_interpolate_cliffs,
        ball_query_cliffs,        masked_convolution_cliffs, voxelization_cliffs,     dynamic_scatter_cliffs,
        indice_convolution_cliffs}) {
    for (CaseSpec& spec : cases()) all.push_back(std::move(spec));
  }
  return all;
}

std::vector<CaseSpec> matching_cases(const Filter& filter) {
  const auto misses = [](const std::string& name, const std::string& text) {
    return name.find(text) == std::string::npos;
  };
  std::vector<CaseSpec> matching = all_cases();
  std::erase_if(matching, [&](const CaseSpec& spec) {
    return misses(spec.op, filter.op) || (spec.op == kCliffs && filter.op.empty()) ||
           misses(spec.name, filter.name) || misses(spec.dtype, filter.dtype) ||
           std::find(filter.algorithms.begin(), filter.algorithms.end(), spec.algorithm) ==
               filter.algorithms.end();
  });
  return matching;
}

std::string title(const CaseSpec& spec) {
  return spec.op + '/' + spec.name + ' ' + spec.dtype + ' ' + spec.algorithm;
}

}  // namespace mluop::perf
