// All cases of the suite. Each file of case/operators has one in this folder, each network one in perf/networks,
// and an entry in catalogue.cpp.
#pragma once

#include <string>
#include <vector>

#include "perf/support/case.h"

namespace mluop::perf {

// The operator of the cases that compare hostile distributions of indices with friendly ones of the same size.
// A filter has to name it.
inline constexpr auto kCliffs = "cliffs";

// Substrings of the names of a case, of which the empty string selects all, and names of algorithms.
struct Filter {
  std::string op, name, dtype;
  std::vector<std::string> algorithms{"native", "device"};
};

// Cases of an operator are consecutive, the native algorithm first. Cliffs come last.
std::vector<CaseSpec> matching_cases(const Filter& filter);

// "operator/case dtype algorithm".
std::string title(const CaseSpec& spec);

std::vector<CaseSpec> voxel_pooling_cases();
std::vector<CaseSpec> three_nn_forward_cases();
std::vector<CaseSpec> three_interpolate_cases();
std::vector<CaseSpec> ball_query_cases();
std::vector<CaseSpec> masked_convolution_cases();
std::vector<CaseSpec> voxelization_cases();
std::vector<CaseSpec> dynamic_scatter_cases();
std::vector<CaseSpec> get_indice_pairs_cases();
std::vector<CaseSpec> indice_convolution_cases();

// Networks, in the files of perf/networks.
std::vector<CaseSpec> center_point_cases();
std::vector<CaseSpec> point_net_cases();
std::vector<CaseSpec> mvx_net_cases();
std::vector<CaseSpec> bev_depth_cases();

}  // namespace mluop::perf
