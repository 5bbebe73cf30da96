// Get indice pairs at the sizes of CenterPoint's backbone, on LiDAR scans: the strided convolutions from one level
// to the next, and the 3 x 3 x 3 submanifold convolutions of each level. The sites of a level are in ascending
// order, as the operator writes them; `unordered`: the sites of the first level in random order.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "perf/ops/center_point_inputs.h"
#include "perf/support/operator_case.h"

namespace mluop::perf::get_indice_pairs {
namespace {

struct Row {
  std::string name;
  scenes::CenterPointInput input;
  scenes::SparseConvolution sparse;
  bool unordered = false;
};

template <class Numbers>
std::vector<int64_t> list(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<int64_t> space_of(const scenes::Site& grid) { return {grid[1], grid[2], grid[3]}; }

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const scenes::SparseConvolution& sparse = row.sparse;
  scenes::SparseTensor tensor = scenes::center_point_tensor(scaled(row.input, size));
  if (row.unordered) {
    std::mt19937 random(1);
    std::shuffle(tensor.sites.begin(), tensor.sites.end(), random);
  }
  const auto L = static_cast<int64_t>(tensor.sites.size());
  const auto outputs =
      static_cast<int64_t>(scenes::indice_pairs(tensor.sites, tensor.grid, sparse).outputs.size());
  const int64_t batch = tensor.grid[0], K = sparse.offsets();
  const std::vector<int64_t> input_space = space_of(tensor.grid),
                             output_space = space_of(scenes::output_grid(tensor.grid, sparse));
  auto made = make_case("get_indice_pairs", variant,
                        {{"dimnb", 5},
                         {"batch", batch},
                         {"pad", list(sparse.padding)},
                         {"stride", list(sparse.stride)},
                         {"dilation", list(sparse.dilation)},
                         {"input_space", input_space},
                         {"filter_space", list(sparse.kernel)},
                         {"output_space", output_space},
                         {"sub_m", sparse.submanifold ? 1 : 0},
                         {"transpose", 0},
                         {"inverse", 0}},
                        {{"indices", MLUOP_DTYPE_INT32, {L, 4}},
                         {"out_indices", MLUOP_DTYPE_INT32, {outputs, 4}},
                         {"indice_pairs", MLUOP_DTYPE_INT32, {K, 2, L}},
                         {"indice_num", MLUOP_DTYPE_INT32, {K}}});
  std::memcpy(made->bytes("indices").data(), tensor.sites.data(), made->bytes("indices").size());
  made->options.measures_memory = true;
  made->options.checksummed = {made->bytes("out_indices"), made->bytes("indice_pairs")};
  made->dump("batch_size", {batch});
  made->dump("input_space", input_space);
  made->dump("output_space", output_space);
  made->dump("kernel", list(sparse.kernel));
  made->dump("stride", list(sparse.stride));
  made->dump("pad", list(sparse.padding));
  made->dump("sub_m", {sparse.submanifold ? 1 : 0});
  made->dump("num_act_out", {outputs});
  return made;
}

std::string digits(const scenes::Extent& extent) {
  std::string text;
  for (const int32_t each : extent) text += std::to_string(each);
  return text;
}

std::vector<Row> rows() {
  std::vector<Row> all;
  const scenes::SparseConvolution cube = scenes::submanifold({3, 3, 3});
  for (const auto& input : scenes::kCenterPointInputs) {
    const std::string level = "level" + std::to_string(input.level) + '_';
    const scenes::SparseConvolution& step = scenes::kCenterPointSteps[input.level];
    all.push_back({level + "subm", input, cube});
    all.push_back({level + 'k' + digits(step.kernel) + "_s" + digits(step.stride), input, step});
  }
  all.push_back({"level0_subm_unordered", scenes::kCenterPointInputs[0], cube, true});
  all.push_back({"level0_k333_s222_unordered", scenes::kCenterPointInputs[0], scenes::kCenterPointSteps[0], true});
  return all;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "get_indice_pairs", kNativeInt32, rows(), make);
  return specs;
}

}  // namespace mluop::perf::get_indice_pairs
