// The cases of the suite. An operator adds its file to this folder and its line to catalogue.cpp.
#pragma once

#include <vector>

#include "perf/support/case.h"

namespace mluop::perf {

// All cases, those of an operator next to each other, the deterministic mode first.
std::vector<CaseSpec> all_cases();

std::vector<CaseSpec> masked_im2col_forward_cases();
std::vector<CaseSpec> voxel_pooling_forward_cases();
std::vector<CaseSpec> three_interpolate_backward_cases();
std::vector<CaseSpec> dynamic_scatter_backward_cases();
std::vector<CaseSpec> indice_convolution_forward_cases();

}  // namespace mluop::perf
