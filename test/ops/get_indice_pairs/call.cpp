#include "ops/get_indice_pairs/call.h"

#include <algorithm>
#include <set>

namespace mluop::test {
namespace {

int64_t columns_of(const GetIndicePairsInputs& inputs) { return inputs.two_dimensions ? 3 : 4; }
int64_t site_count(const GetIndicePairsInputs& inputs) {
  return static_cast<int64_t>(inputs.problem.sites.size());
}

std::vector<int32_t> indices_of(const GetIndicePairsInputs& inputs) {
  std::vector<int32_t> indices;
  for (const auto& site : inputs.problem.sites) {
    indices.push_back(site[0]);
    indices.insert(indices.end(), site.begin() + (inputs.two_dimensions ? 2 : 1), site.end());
  }
  return indices;
}

void set(mluOpSparseConvolutionDescriptor_t desc, const IndicePairsProblem& problem, bool two_dimensions) {
  const size_t skip = two_dimensions ? 1 : 0;
  require(mluOpSetSparseConvolutionDescriptor(
      desc, two_dimensions ? 4 : 5, problem.batch_size, problem.pad.data() + skip, problem.stride.data() + skip,
      problem.dilation.data() + skip, problem.input_space.data() + skip, problem.kernel.data() + skip,
      problem.output_space.data() + skip, problem.sub_m ? 1 : 0, 0, 0));
}

SparseConvolutionDescriptor descriptor_of(const GetIndicePairsInputs& inputs) {
  SparseConvolutionDescriptor desc;
  set(desc, inputs.problem, inputs.two_dimensions);
  return desc;
}

}  // namespace

GetIndicePairsInputs random_get_indice_pairs(const IndicePairsProblem& convolution, int64_t count,
                                             std::mt19937& random, bool distinct) {
  GetIndicePairsInputs inputs{false, convolution, 0};
  inputs.problem.sites.clear();
  std::set<IndicePairsProblem::Site> seen;
  while (site_count(inputs) < count) {
    const auto below = [&](int32_t extent) {
      return static_cast<int32_t>(random() % static_cast<uint32_t>(extent));
    };
    const IndicePairsProblem::Site site = {below(convolution.batch_size), below(convolution.input_space[0]),
                                           below(convolution.input_space[1]), below(convolution.input_space[2])};
    if (!distinct || seen.insert(site).second) inputs.problem.sites.push_back(site);
  }
  inputs.capacity = static_cast<int64_t>(reference::get_indice_pairs(inputs.problem).outputs.size());
  return inputs;
}

IndicePairsProblem::Extent output_space_of(const IndicePairsProblem& problem) {
  IndicePairsProblem::Extent extent;
  for (size_t axis = 0; axis < extent.size(); ++axis) {
    const int32_t span = problem.input_space[axis] + 2 * problem.pad[axis] -
                         problem.dilation[axis] * (problem.kernel[axis] - 1) - 1;
    extent[axis] = std::max(span, 0) / problem.stride[axis] + 1;
  }
  return extent;
}

GetIndicePairsCall::GetIndicePairsCall(mluOpHandle_t with, const GetIndicePairsInputs& call_inputs,
                                       Placement placement)
    : GuardedCall(with),
      inputs(call_inputs),
      own_sparse_conv_desc(descriptor_of(inputs)),
      own_indices_desc(MLUOP_DTYPE_INT32, {site_count(inputs), columns_of(inputs)}),
      own_pairs_desc(MLUOP_DTYPE_INT32, {inputs.problem.offset_count(), 2, site_count(inputs)}),
      own_out_desc(MLUOP_DTYPE_INT32, {inputs.capacity, columns_of(inputs)}),
      own_num_desc(MLUOP_DTYPE_INT32, {inputs.problem.offset_count()}),
      indices_buffer(indices_of(inputs), placement),
      pairs_buffer(static_cast<size_t>(inputs.problem.offset_count() * 2 * site_count(inputs)), placement),
      out_buffer(static_cast<size_t>(inputs.capacity * columns_of(inputs)), placement),
      num_buffer(static_cast<size_t>(inputs.problem.offset_count()), placement),
      queried_buffer(1),
      workspace_buffer(
          [&] {
            size_t bytes = 0;
            require(mluOpGetIndicePairsWorkspaceSize(with, own_sparse_conv_desc, own_indices_desc, own_pairs_desc,
                                                     own_out_desc, own_num_desc, &bytes));
            return bytes;
          }(),
          placement),
      sparse_conv_desc(own_sparse_conv_desc),
      indices_desc(own_indices_desc),
      indice_pairs_desc(own_pairs_desc),
      out_indices_desc(own_out_desc),
      indice_num_desc(own_num_desc),
      indices(indices_buffer.data()),
      indice_pairs(pairs_buffer.data()),
      out_indices(out_buffer.data()),
      indice_num(num_buffer.data()),
      workspace(workspace_buffer.data()),
      workspace_size(workspace_buffer.size()),
      queried_size(queried_buffer.data()) {
  // A workspace holds what earlier calls left there.
  std::fill_n(workspace_buffer.data(), workspace_buffer.size(), std::byte{0xA5});
  set_buffers({&indices_buffer}, {&pairs_buffer, &out_buffer, &num_buffer, &queried_buffer}, {&workspace_buffer});
}

mluOpStatus_t GetIndicePairsCall::run() const {
  return mluOpGetIndicePairs(handle, sparse_conv_desc, indices_desc, indices, workspace, workspace_size,
                             indice_pairs_desc, indice_pairs, out_indices_desc, out_indices, indice_num_desc,
                             indice_num);
}

mluOpStatus_t GetIndicePairsCall::query() const {
  return mluOpGetIndicePairsWorkspaceSize(handle, sparse_conv_desc, indices_desc, indice_pairs_desc,
                                          out_indices_desc, indice_num_desc, queried_size);
}

void GetIndicePairsCall::set_convolution(const IndicePairsProblem& problem) const {
  set(own_sparse_conv_desc, problem, inputs.two_dimensions);
}

int GetIndicePairsCall::num_act_out() const {
  int count = -1;
  require(mluOpGetSparseConvolutionNumActOut(own_sparse_conv_desc, &count));
  return count;
}

}  // namespace mluop::test
