// Indice convolution forward at the sizes of CenterPoint's backbone, on LiDAR scans: the strided convolutions of
// the design document and 3 x 3 x 3 submanifold convolutions on the same inputs. The number of input sites is that
// of the document; the number of output sites follows from the pairs.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/bounds/indice_convolution_forward.h"
#include "perf/ops/catalogue.h"
#include "perf/ops/center_point_convolutions.h"
#include "perf/ops/gather_sgemm_scatter.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/indice_convolution_forward.h"
#include "support/api.h"
#include "support/center_point.h"

namespace mluop::perf {
namespace {

using Sizes = reference::IndiceConvolutionForwardSizes;
using reference::FilterLayout;

constexpr uint64_t kFeaturesSeed = 1, kFiltersSeed = 2, kPairsSeed = 3;
constexpr double kFloatTolerance = 1e-5, kHalfTolerance = 3e-3;

// The pairs of a convolution and the sizes that follow from them.
struct Problem {
  // All inputs in each of 27 offsets, 32 x 64 channels, onto outputs drawn from `rows`; with distinct outputs,
  // none occurs twice in an offset.
  Problem(int64_t inputs, int64_t rows, bool distinct) : sizes{inputs, rows, 32, 64, 3, 3, 3} {
    std::mt19937 random(kPairsSeed);
    std::vector<int32_t> outputs(static_cast<size_t>(distinct ? rows : inputs));
    std::iota(outputs.begin(), outputs.end(), 0);
    for (int64_t k = 0; k < sizes.K(); ++k) {
      for (int32_t l = 0; l < inputs; ++l) pairs.pairs.push_back(l);
      if (distinct) {
        std::ranges::sample(outputs, std::back_inserter(pairs.pairs), inputs, random);
      } else {
        std::uniform_int_distribution<int32_t> row(0, static_cast<int32_t>(rows - 1));
        for (int64_t l = 0; l < inputs; ++l) pairs.pairs.push_back(row(random));
      }
    }
    pairs.num.assign(static_cast<size_t>(sizes.K()), inputs);
  }

  explicit Problem(const Convolution& convolution) {
    const auto tensor = test::center_point_tensor(convolution.input);
    pairs = test::indice_pairs(tensor.sites, tensor.grid, convolution.sparse);
    const auto& [depth, height, width] = convolution.sparse.kernel;
    sizes = {static_cast<int64_t>(tensor.sites.size()),
             static_cast<int64_t>(pairs.outputs.size()),
             convolution.Ci,
             convolution.Co,
             depth,
             height,
             width};
  }

  test::IndicePairs pairs;
  Sizes sizes;
};

template <class T>
constexpr bool kIsFloat = std::is_same_v<T, float>;

template <class T>
class IndiceConvolutionForward : public Case {
 public:
  IndiceConvolutionForward(const Convolution& convolution, mluOpOmpAlgorithm_t algorithm, bool with_serial)
      : IndiceConvolutionForward(Problem(convolution), convolution.sparse.submanifold, algorithm, with_serial,
                                 true) {}

  // with_sgemm: whether the pairs meet the requirements of GatherSgemmScatter.
  IndiceConvolutionForward(const Problem& problem, bool submanifold, mluOpOmpAlgorithm_t algorithm,
                           bool with_serial, bool with_sgemm)
      : Case(algorithm),
        sizes_(problem.sizes),
        sub_m_(submanifold ? 1 : 0),
        with_serial_(with_serial),
        num_(problem.pairs.num) {
    fill_uniform(features_, kFeaturesSeed);
    fill_uniform(filters_, kFiltersSeed);
    std::copy(problem.pairs.pairs.begin(), problem.pairs.pairs.end(), pairs_.data());
    size_t bytes = 0;
    test::require(mluOpGetIndiceConvolutionForwardWorkspaceSize(handle(), features_desc_, filters_desc_,
                                                                pairs_desc_, features_out_desc_, num_.data(),
                                                                sizes_.num_act_out, 0, sub_m_, &bytes));
    workspace_.emplace(static_cast<int64_t>(bytes));
    if (!kIsFloat<T> || !with_sgemm) return;
    expected_.emplace(sizes_.features_out_count());
    sgemm_.emplace(sizes_, *std::max_element(num_.begin(), num_.end()));
    for (int64_t co = 0; co < sizes_.Co; ++co) {
      for (int64_t row = 0; row < sizes_.K() * sizes_.Ci; ++row) {
        serial_filters_.push_back(test::to_f32(filters_.data()[row * sizes_.Co + co]));
      }
    }
  }

  Work work() const override {
    const auto element = static_cast<int64_t>(sizeof(T));
    return {(sizes_.features_count() + sizes_.filters_count()) * element + used_pairs() * kPairBytes,
            sizes_.features_out_count() * element, 2 * used_pairs() * sizes_.Ci * sizes_.Co};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(features_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("features", {sizes_.num_act_in, sizes_.Ci}, features_.values());
    folder.write("filters", {sizes_.D, sizes_.H, sizes_.W, sizes_.Ci, sizes_.Co}, filters_.values());
    folder.write("indice_pairs", {sizes_.K(), 2, sizes_.num_act_in}, pairs_.values());
    folder.write("indice_num", num_);
    folder.write("num_act_out", {sizes_.num_act_out});
    folder.write("sub_m", {sub_m_});
  }

  void run() override {
    test::require(mluOpIndiceConvolutionForward(
        handle(), features_desc_, features_.data(), filters_desc_, filters_.data(), pairs_desc_, pairs_.data(),
        num_.data(), sizes_.num_act_out, 0, sub_m_, workspace_->data(), workspace_->values().size(),
        features_out_desc_, features_out_.data()));
  }

  std::vector<Baseline> baselines() override {
    std::vector<Baseline> all;
    if constexpr (kIsFloat<T>) {
      if (with_serial_) all.push_back({"serial", [this] { run_serial(); }});
      if (sgemm_) all.push_back({"gather-sgemm-scatter", [this] { run_sgemm(); }});
    }
    return all;
  }

  std::function<void()> algorithmic_bound() override {
    if (!is_native()) return {};
    return indice_convolution_forward_bound(sizes_, features_.data(), pairs_.data(), num_.data(), thread_count());
  }

  std::optional<Footprint> footprint() const override {
    const auto element = static_cast<int64_t>(sizeof(T));
    const int64_t elements = sizes_.features_count() + sizes_.filters_count() + sizes_.features_out_count();
    return Footprint{elements * element + sizes_.pairs_count() * int64_t{sizeof(int32_t)},
                     static_cast<int64_t>(workspace_->values().size())};
  }

  std::string verify() override {
    const std::vector<float> sums = sums_in_double();
    features_out_.set_bytes(0xFF);
    run();
    std::vector<float> outputs;
    for (const T value : features_out_.values()) outputs.push_back(test::to_f32(value));
    std::string problem = too_different("features_out", outputs, sums, tolerance());
    if constexpr (kIsFloat<T>) {
      if (problem.empty() && sgemm_) {
        run_sgemm();
        problem = too_different("gather-sgemm-scatter", expected_->values(), sums, kFloatTolerance);
      }
    }
    return problem;
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(features_out_.values())); }

 private:
  static constexpr int64_t kPairBytes = 2 * sizeof(int32_t);
  static constexpr auto kDtype = kIsFloat<T> ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF;

  // The error of a sum in fp32 grows with the square root of the number of its products.
  double tolerance() const {
    const auto products = static_cast<double>(used_pairs() * sizes_.Ci) / static_cast<double>(sizes_.num_act_out);
    return std::max(kIsFloat<T> ? kFloatTolerance : kHalfTolerance, std::sqrt(products) * 0x1p-24);
  }

  int64_t used_pairs() const {
    int64_t sum = 0;
    for (const int64_t count : num_) sum += count;
    return sum;
  }

  void run_serial() {
    reference::indice_convolution_forward(sizes_, features_.data(), serial_filters_.data(), pairs_.data(),
                                          num_.data(), expected_->data());
  }

  void run_sgemm() {
    sgemm_->run(features_.data(), filters_.data(), pairs_.data(), num_.data(), expected_->data());
  }

  std::vector<float> sums_in_double() const {
    Buffer<double> sums(sizes_.features_out_count());
    const int threads = thread_count();
    parallel(threads, [&](int id) {
      reference::indice_convolution_forward(sizes_, features_.data(), FilterLayout::kArray, filters_.data(),
                                            pairs_.data(), num_.data(), share(sizes_.Co, threads, id),
                                            share(sizes_.Co, threads, id + 1), sums.data());
    });
    return {sums.values().begin(), sums.values().end()};
  }

  Sizes sizes_;
  int64_t sub_m_;
  bool with_serial_;
  test::Descriptor features_desc_{kDtype, {sizes_.num_act_in, sizes_.Ci}};
  test::Descriptor filters_desc_{kDtype, {sizes_.D, sizes_.H, sizes_.W, sizes_.Ci, sizes_.Co}};
  test::Descriptor pairs_desc_{MLUOP_DTYPE_INT32, {sizes_.K(), 2, sizes_.num_act_in}};
  test::Descriptor features_out_desc_{kDtype, {sizes_.num_act_out, sizes_.Co}};
  Buffer<T> features_{sizes_.features_count()}, filters_{sizes_.filters_count()};
  Buffer<int32_t> pairs_{sizes_.pairs_count()};
  std::vector<int64_t> num_;
  Buffer<T> features_out_{sizes_.features_out_count()};
  std::optional<Buffer<std::byte>> workspace_;
  // Operands of the baselines, float only. The serial loop reads filters in the layout [Co, D, H, W, Ci].
  std::vector<float> serial_filters_;
  std::optional<GatherSgemmScatter> sgemm_;
  std::optional<Buffer<float>> expected_;
};

template <class T>
void append_cases(std::vector<CaseSpec>& cases, mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  for (const Convolution& convolution : convolutions()) {
    // For other convolutions the serial loop takes seconds.
    const bool with_serial = convolution.sparse.submanifold && convolution.input.level == 0;
    cases.push_back({"indice_convolution_forward", name_of(convolution), kIsFloat<T> ? "float" : "half",
                     algorithm_name, [=](double size) {
                       return std::make_unique<IndiceConvolutionForward<T>>(scaled(convolution, size), algorithm,
                                                                            with_serial);
                     }});
  }
}

template <class T>
void append_cliffs(std::vector<CaseSpec>& cases, mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  constexpr int64_t kInputs = 66667;
  constexpr struct {
    const char* name;
    int64_t rows;
    bool distinct;
  } kCliffCases[] = {{"indice_convolution distinct", 200000, true}, {"indice_convolution m200000", 200000, false},
                     {"indice_convolution m1000", 1000, false},     {"indice_convolution m63", 63, false},
                     {"indice_convolution m8", 8, false},           {"indice_convolution m1", 1, false}};
  for (const auto& each : kCliffCases) {
    cases.push_back({kCliffs, each.name, kIsFloat<T> ? "float" : "half", algorithm_name, [=](double size) {
                       const int64_t inputs =
                           std::min(perf::scaled(kInputs, size), each.distinct ? each.rows : INT64_MAX);
                       return std::make_unique<IndiceConvolutionForward<T>>(
                           Problem(inputs, each.rows, each.distinct), false, algorithm, false, false);
                     }});
  }
}

}  // namespace

std::vector<CaseSpec> indice_convolution_forward_cliffs() {
  std::vector<CaseSpec> cases;
  for (const auto& [algorithm, name] : kAlgorithms) {
    append_cliffs<float>(cases, algorithm, name);
    append_cliffs<test::Half>(cases, algorithm, name);
  }
  return cases;
}

std::vector<CaseSpec> indice_convolution_forward_cases() {
  std::vector<CaseSpec> cases;
  for (const auto& [algorithm, name] : kAlgorithms) {
    append_cases<float>(cases, algorithm, name);
    append_cases<test::Half>(cases, algorithm, name);
  }
  return cases;
}

}  // namespace mluop::perf
