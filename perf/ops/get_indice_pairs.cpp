// Get indice pairs at the sizes of CenterPoint's backbone, on LiDAR scans: the strided convolutions from one level
// to the next, and the 3 x 3 x 3 submanifold convolutions of each level. The sites of a level are in ascending
// order, as the operator writes them; `unordered`: the sites of the first level in random order.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "perf/ops/catalogue.h"
#include "perf/ops/center_point_convolutions.h"
#include "perf/support/npy_folder.h"
#include "perf/support/operator_case.h"

namespace mluop::perf {
namespace {

struct Row {
  std::string name;
  test::CenterPointInput input;
  test::SparseConvolution sparse;
  bool unordered = false;
};

template <class Numbers>
std::vector<int64_t> list(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<int64_t> space_of(const test::Site& grid) { return {grid[1], grid[2], grid[3]}; }

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const test::SparseConvolution& sparse = row.sparse;
  test::SparseTensor tensor = test::center_point_tensor(scaled(row.input, size));
  if (row.unordered) {
    std::mt19937 random(1);
    std::shuffle(tensor.sites.begin(), tensor.sites.end(), random);
  }
  const auto L = static_cast<int64_t>(tensor.sites.size());
  const auto outputs = static_cast<int64_t>(test::indice_pairs(tensor.sites, tensor.grid, sparse).outputs.size());
  const int64_t batch = tensor.grid[0], K = sparse.offsets();
  const std::vector<int64_t> input_space = space_of(tensor.grid),
                             output_space = space_of(test::output_grid(tensor.grid, sparse));
  cases::Parameters parameters;
  parameters.set("dimnb", 5);
  parameters.set("batch", batch);
  parameters.set("pad", list(sparse.padding));
  parameters.set("stride", list(sparse.stride));
  parameters.set("dilation", list(sparse.dilation));
  parameters.set("input_space", input_space);
  parameters.set("filter_space", list(sparse.kernel));
  parameters.set("output_space", output_space);
  parameters.set("sub_m", sparse.submanifold ? 1 : 0);
  parameters.set("transpose", 0);
  parameters.set("inverse", 0);
  auto made =
      std::make_unique<OperatorCase>("get_indice_pairs", variant.algorithm, parameters,
                                     std::vector<TensorShape>{{"indices", MLUOP_DTYPE_INT32, {L, 4}},
                                                              {"out_indices", MLUOP_DTYPE_INT32, {outputs, 4}},
                                                              {"indice_pairs", MLUOP_DTYPE_INT32, {K, 2, L}},
                                                              {"indice_num", MLUOP_DTYPE_INT32, {K}}});
  std::memcpy(made->bytes("indices").data(), tensor.sites.data(), made->bytes("indices").size());
  made->measure_memory();
  made->set_checksummed({made->bytes("out_indices"), made->bytes("indice_pairs")});
  made->set_parameter_writer([=](const NpyFolder& folder) {
    folder.write("batch_size", {batch});
    folder.write("input_space", input_space);
    folder.write("output_space", output_space);
    folder.write("kernel", list(sparse.kernel));
    folder.write("stride", list(sparse.stride));
    folder.write("pad", list(sparse.padding));
    folder.write("sub_m", {sparse.submanifold ? 1 : 0});
    folder.write("num_act_out", {outputs});
  });
  return made;
}

std::string digits(const test::Extent& extent) {
  std::string text;
  for (const int32_t each : extent) text += std::to_string(each);
  return text;
}

std::vector<Row> rows() {
  std::vector<Row> all;
  const test::SparseConvolution cube = test::submanifold({3, 3, 3});
  for (const auto& input : test::kCenterPointInputs) {
    const std::string level = "level" + std::to_string(input.level) + '_';
    const test::SparseConvolution& step = test::kCenterPointSteps[input.level];
    all.push_back({level + "subm", input, cube});
    all.push_back({level + 'k' + digits(step.kernel) + "_s" + digits(step.stride), input, step});
  }
  all.push_back({"level0_subm_unordered", test::kCenterPointInputs[0], cube, true});
  return all;
}

}  // namespace

std::vector<CaseSpec> get_indice_pairs_cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "get_indice_pairs", kNativeInt32, rows(), make);
  return specs;
}

}  // namespace mluop::perf
