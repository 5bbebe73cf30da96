#include "perf/ops/catalogue.h"

#include <utility>

namespace mluop::perf {

std::vector<CaseSpec> all_cases() {
  std::vector<CaseSpec> all;
  for (const auto cases :
       {voxel_pooling_forward_cases, three_interpolate_backward_cases, masked_im2col_forward_cases,
        dynamic_scatter_backward_cases, indice_convolution_forward_cases}) {
    for (CaseSpec& spec : cases()) all.push_back(std::move(spec));
  }
  return all;
}

}  // namespace mluop::perf
