// Cases of mluOpGetIndicePairs of any convolution and sites.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reference/get_indice_pairs.h"
#include "support/environment.h"
#include "support/operator_call.h"

namespace mluop::test {

using reference::IndicePairsProblem;

// The extent of the output is (in + 2 pad - dilation (kernel - 1) - 1) / stride + 1.
inline IndicePairsProblem regular_problem(const IndicePairsProblem::Extent& space,
                                          const IndicePairsProblem::Extent& kernel,
                                          const IndicePairsProblem::Extent& stride,
                                          const IndicePairsProblem::Extent& pad,
                                          const IndicePairsProblem::Extent& dilation = {1, 1, 1}) {
  IndicePairsProblem problem = {2, space, {}, kernel, stride, pad, dilation, false, {}};
  for (size_t axis = 0; axis < space.size(); ++axis) {
    const int64_t span = space[axis] + int64_t{2} * pad[axis] - int64_t{dilation[axis]} * (kernel[axis] - 1) - 1;
    problem.output_space[axis] = static_cast<int32_t>(std::max<int64_t>(span, 0) / stride[axis] + 1);
  }
  return problem;
}

inline IndicePairsProblem submanifold_problem(const IndicePairsProblem::Extent& space,
                                              const IndicePairsProblem::Extent& kernel,
                                              const IndicePairsProblem::Extent& pad) {
  return {2, space, space, kernel, {1, 1, 1}, pad, {1, 1, 1}, true, {}};
}

// The convolution with `count` random sites in any order, distinct if `distinct`.
inline IndicePairsProblem with_random_sites(IndicePairsProblem problem, int64_t count, std::mt19937& random,
                                            bool distinct = true) {
  const auto below = [&](int32_t extent) {
    return static_cast<int32_t>(random() % static_cast<uint32_t>(extent));
  };
  std::set<IndicePairsProblem::Site> seen;
  problem.sites.clear();
  while (static_cast<int64_t>(problem.sites.size()) < count) {
    const IndicePairsProblem::Site site = {below(problem.batch_size), below(problem.input_space[0]),
                                           below(problem.input_space[1]), below(problem.input_space[2])};
    if (!distinct || seen.insert(site).second) problem.sites.push_back(site);
  }
  return problem;
}

// The case has `spare_rows` more rows of out_indices than output sites, and states num_act_out.
inline cases::Case convolution_case(const IndicePairsProblem& problem, int64_t spare_rows = 0) {
  const int64_t L = static_cast<int64_t>(problem.sites.size()), K = problem.offset_count();
  const auto num_act_out = static_cast<int64_t>(reference::get_indice_pairs(problem).outputs.size());
  cases::Case made = make_case("get_indice_pairs", MLUOP_DTYPE_INT32,
                               {{"batch", problem.batch_size}, {"sites", 0}, {"sub_m", problem.sub_m ? 1 : 0}});
  for (const auto& [name, extent] : {std::pair{"pad", problem.pad},
                                     {"stride", problem.stride},
                                     {"dilation", problem.dilation},
                                     {"input_space", problem.input_space},
                                     {"filter_space", problem.kernel},
                                     {"output_space", problem.output_space}}) {
    made.parameters.set(name, std::vector<int64_t>(extent.begin(), extent.end()));
  }
  made.parameters.set("num_act_out", num_act_out);
  std::vector<int32_t> indices;
  for (const auto& site : problem.sites) indices.insert(indices.end(), site.begin(), site.end());
  made.inputs[0].dims = {L, 4};
  set_values(made, "indices", indices);
  made.outputs[0].dims = {num_act_out + spare_rows, 4};
  made.outputs[1].dims = {K, 2, L};
  made.outputs[2].dims = {K};
  return made;
}

// Compares the pairs with the definition at each number of threads and placement.
inline void expect_pairs(const cases::Case& made, const std::vector<int>& thread_counts,
                         const std::vector<Placement>& placements = {Placement::kAligned}) {
  const Oracle oracle(made);
  for (const int count : thread_counts) {
    SCOPED_TRACE(std::to_string(made.inputs[0].dims[0]) + " sites, threads: " + std::to_string(count));
    const ScopedThreads threads(count);
    for (const auto placement : placements) {
      EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE, placement)) << mluOpOmpGetLastError();
    }
  }
}

// Runs a call with a separate descriptor of the convolution.
inline mluOpStatus_t run_with(const OperatorCall& call, mluOpSparseConvolutionDescriptor_t desc) {
  const cases::Arguments& a = call.arguments;
  return mluOpGetIndicePairs(a.handle, desc, a[0].desc, a[0].data, a.workspace, a.workspace_size, a[2].desc,
                             a[2].data, a[1].desc, a[1].data, a[3].desc, a[3].data);
}

}  // namespace mluop::test
