// Get indice pairs at the sizes of CenterPoint's backbone, on LiDAR scans: the strided convolutions from one level
// to the next, and the 3 x 3 x 3 submanifold convolutions of each level. The sites of a level are in ascending
// order, as the operator writes them; `unordered`: the sites of the first level in random order.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/get_indice_pairs.h"
#include "support/api.h"
#include "support/center_point.h"

namespace mluop::perf {
namespace {

constexpr uint32_t kSeed = 1;

struct Convolution {
  test::CenterPointInput input;
  test::SparseConvolution sparse;
  bool unordered;
};

// Scales the number of scans, as the number of sites of a scan is limited.
Convolution scaled(Convolution convolution, double size) {
  convolution.input.sites = perf::scaled(convolution.input.sites, size);
  convolution.input.scans = static_cast<int>(std::ceil(convolution.input.scans * size));
  return convolution;
}

reference::IndicePairsProblem problem_of(const Convolution& convolution) {
  const auto& sparse = convolution.sparse;
  test::SparseTensor tensor = test::center_point_tensor(convolution.input);
  const test::Site output = test::output_grid(tensor.grid, sparse);
  if (convolution.unordered) {
    std::mt19937 random(kSeed);
    std::shuffle(tensor.sites.begin(), tensor.sites.end(), random);
  }
  const auto space = [](const test::Site& grid) { return test::Extent{grid[1], grid[2], grid[3]}; };
  return {tensor.grid[0], space(tensor.grid), space(output),      sparse.kernel,          sparse.stride,
          sparse.padding, sparse.dilation,    sparse.submanifold, std::move(tensor.sites)};
}

class GetIndicePairs : public Case {
 public:
  explicit GetIndicePairs(const Convolution& convolution, mluOpOmpAlgorithm_t algorithm)
      : Case(algorithm), problem_(problem_of(convolution)), expected_(reference::get_indice_pairs(problem_)) {
    static_assert(sizeof(test::Site) == 4 * sizeof(int32_t));
    std::memcpy(indices_.data(), problem_.sites.data(), problem_.sites.size() * sizeof(test::Site));
    test::require(mluOpSetSparseConvolutionDescriptor(convolution_, 5, problem_.batch_size, problem_.pad.data(),
                                                      problem_.stride.data(), problem_.dilation.data(),
                                                      problem_.input_space.data(), problem_.kernel.data(),
                                                      problem_.output_space.data(), problem_.sub_m ? 1 : 0, 0, 0));
    size_t bytes = 0;
    test::require(mluOpGetIndicePairsWorkspaceSize(handle(), convolution_, indices_desc_, pairs_desc_, out_desc_,
                                                   num_desc_, &bytes));
    workspace_.emplace(static_cast<int64_t>(bytes));
  }

  Work work() const override {
    return {sites() * kSiteBytes,
            (pairs_count() + problem_.offset_count()) * kElementBytes + outputs() * kSiteBytes, 0};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(indices_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("indices", {sites(), 4}, indices_.values());
    const auto numbers = [](const auto& extent) { return std::vector<int64_t>(extent.begin(), extent.end()); };
    folder.write("batch_size", {problem_.batch_size});
    folder.write("input_space", numbers(problem_.input_space));
    folder.write("output_space", numbers(problem_.output_space));
    folder.write("kernel", numbers(problem_.kernel));
    folder.write("stride", numbers(problem_.stride));
    folder.write("pad", numbers(problem_.pad));
    folder.write("sub_m", {problem_.sub_m ? 1 : 0});
    folder.write("num_act_out", {outputs()});
  }

  void run() override {
    test::require(mluOpGetIndicePairs(handle(), convolution_, indices_desc_, indices_.data(), workspace_->data(),
                                      workspace_->values().size(), pairs_desc_, pairs_.data(), out_desc_,
                                      out_.data(), num_desc_, num_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { expected_ = reference::get_indice_pairs(problem_); }}};
  }

  std::optional<Footprint> footprint() const override {
    const Work bytes = work();
    return Footprint{bytes.read_bytes + bytes.write_bytes, static_cast<int64_t>(workspace_->values().size())};
  }

  std::string verify() override {
    for (Buffer<int32_t>* output : {&pairs_, &out_, &num_}) output->set_bytes(0x7F);
    run();
    std::vector<int32_t> out;
    for (const auto& site : expected_.outputs) out.insert(out.end(), site.begin(), site.end());
    std::string problem = differing_bits("indice_num", num_.values(), expected_.indice_num);
    if (problem.empty()) problem = differing_bits("indice_pairs", pairs_.values(), expected_.indice_pairs);
    if (problem.empty()) problem = differing_bits("out_indices", out_.values(), out);
    return problem;
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(pairs_.values()), checksum_bytes(std::as_bytes(out_.values())));
  }

 private:
  static constexpr int64_t kElementBytes = sizeof(int32_t), kSiteBytes = 4 * kElementBytes;

  int64_t sites() const { return static_cast<int64_t>(problem_.sites.size()); }
  int64_t outputs() const { return static_cast<int64_t>(expected_.outputs.size()); }
  int64_t pairs_count() const { return problem_.offset_count() * 2 * sites(); }

  reference::IndicePairsProblem problem_;
  reference::IndicePairsResult expected_;
  test::SparseConvolutionDescriptor convolution_;
  test::Descriptor indices_desc_{MLUOP_DTYPE_INT32, {sites(), 4}};
  test::Descriptor pairs_desc_{MLUOP_DTYPE_INT32, {problem_.offset_count(), 2, sites()}};
  test::Descriptor out_desc_{MLUOP_DTYPE_INT32, {outputs(), 4}};
  test::Descriptor num_desc_{MLUOP_DTYPE_INT32, {problem_.offset_count()}};
  Buffer<int32_t> indices_{sites() * 4}, pairs_{pairs_count()}, out_{outputs() * 4}, num_{problem_.offset_count()};
  std::optional<Buffer<std::byte>> workspace_;
};

std::string name_of(const Convolution& convolution) {
  std::string name = "level" + std::to_string(convolution.input.level) + '_';
  if (convolution.sparse.submanifold) return name + (convolution.unordered ? "subm_unordered" : "subm");
  name += 'k';
  for (const int32_t extent : convolution.sparse.kernel) name += std::to_string(extent);
  name += "_s";
  for (const int32_t extent : convolution.sparse.stride) name += std::to_string(extent);
  return name;
}

std::vector<Convolution> convolutions() {
  std::vector<Convolution> all;
  for (const auto& input : test::kCenterPointInputs) {
    all.push_back({input, test::submanifold({3, 3, 3}), false});
    all.push_back({input, test::kCenterPointSteps[input.level], false});
  }
  all.push_back({test::kCenterPointInputs[0], test::submanifold({3, 3, 3}), true});
  return all;
}

}  // namespace

std::vector<CaseSpec> get_indice_pairs_cases() {
  std::vector<CaseSpec> cases;
  for (const Convolution& convolution : convolutions()) {
    cases.push_back({"get_indice_pairs", name_of(convolution), "int32", "native", [=](double size) {
                       return std::make_unique<GetIndicePairs>(scaled(convolution, size),
                                                               MLUOP_OMP_ALGORITHM_NATIVE);
                     }});
  }
  return cases;
}

}  // namespace mluop::perf
