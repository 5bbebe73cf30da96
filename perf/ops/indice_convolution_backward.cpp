// The gradients of indice convolution at the sizes of CenterPoint's backbone, on LiDAR scans. Both operators run
// their native algorithm only.
#include <dnnl.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/ops/center_point_convolutions.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/parallel.h"
#include "perf/support/verify.h"
#include "reference/indice_convolution_backward.h"
#include "support/api.h"

namespace mluop::perf {
namespace {

using Sizes = reference::IndiceConvolutionForwardSizes;

constexpr double kFloatTolerance = 1e-5, kHalfTolerance = 3e-3;

enum class Gradient { kData, kFilter };

template <class T>
constexpr bool kIsFloat = std::is_same_v<T, float>;

// Calls body(i) for each i in [0, count), divided over the threads.
template <class Body>
void for_all(int64_t count, const Body& body) {
  const int threads = thread_count();
  parallel(threads, [&](int id) {
    const int64_t end = share(count, threads, id + 1);
    for (int64_t i = share(count, threads, id); i < end; ++i) body(i);
  });
}

void sgemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
           const float* b, int64_t ldb, float* c) {
  if (dnnl_sgemm(trans_a, trans_b, m, n, k, 1, a, lda, b, ldb, 0, c, n) != dnnl_success) {
    throw std::runtime_error("dnnl_sgemm failed");
  }
}

struct Pairs {
  explicit Pairs(const Convolution& convolution) {
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

// kData reads output_grad and filters, kFilter reads features and output_grad.
template <class T, Gradient kGradient>
class IndiceConvolutionBackward : public Case {
 public:
  IndiceConvolutionBackward(const Pairs& problem, bool submanifold, mluOpOmpAlgorithm_t algorithm,
                            bool with_serial)
      : Case(algorithm),
        sizes_(problem.sizes),
        sub_m_(submanifold ? 1 : 0),
        with_serial_(with_serial),
        num_(problem.pairs.num) {
    fill_uniform(features_, 1);
    fill_uniform(output_grad_, 2);
    fill_uniform(filters_, 3);
    std::copy(problem.pairs.pairs.begin(), problem.pairs.pairs.end(), pairs_.data());
    size_t bytes = 0;
    if constexpr (kIsData) {
      test::require(mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(
          handle(), output_grad_desc_, filters_desc_, pairs_desc_, features_desc_, num_.data(), 0, &bytes));
    } else {
      test::require(mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(
          handle(), features_desc_, output_grad_desc_, pairs_desc_, filters_desc_, num_.data(), 0, sub_m_,
          &bytes));
    }
    workspace_.emplace(static_cast<int64_t>(bytes));
    if constexpr (kIsFloat<T>) {
      const int64_t most = *std::max_element(num_.begin(), num_.end());
      gathered_inputs_.emplace(most * sizes_.Ci);
      gathered_outputs_.emplace(most * sizes_.Co);
      expected_.emplace(result().values().size());
    }
  }

  Work work() const override {
    const int64_t all = sizes_.features_count() + sizes_.features_out_count() + sizes_.filters_count();
    const auto written = static_cast<int64_t>(result().values().size());
    const auto element = static_cast<int64_t>(sizeof(T));
    return {(all - written) * element + used_pairs() * kPairBytes, written * element,
            2 * used_pairs() * sizes_.Ci * sizes_.Co};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(output_grad_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("output_grad", {sizes_.num_act_out, sizes_.Co}, output_grad_.values());
    if (kIsData) {
      folder.write("filters", {sizes_.D, sizes_.H, sizes_.W, sizes_.Ci, sizes_.Co}, filters_.values());
    } else {
      folder.write("features", {sizes_.num_act_in, sizes_.Ci}, features_.values());
    }
    folder.write("indice_pairs", {sizes_.K(), 2, sizes_.num_act_in}, pairs_.values());
    folder.write("indice_num", num_);
    folder.write("sub_m", {sub_m_});
  }

  void run() override {
    if constexpr (kIsData) {
      test::require(mluOpIndiceConvolutionBackwardData(
          handle(), output_grad_desc_, output_grad_.data(), filters_desc_, filters_.data(), pairs_desc_,
          pairs_.data(), num_.data(), 0, sub_m_, workspace_->data(), workspace_->values().size(), features_desc_,
          features_.data()));
    } else {
      test::require(mluOpIndiceConvolutionBackwardFilter(
          handle(), features_desc_, features_.data(), output_grad_desc_, output_grad_.data(), pairs_desc_,
          pairs_.data(), num_.data(), 0, sub_m_, workspace_->data(), workspace_->values().size(), filters_desc_,
          filters_.data()));
    }
  }

  std::vector<Baseline> baselines() override {
    std::vector<Baseline> all;
    if constexpr (kIsFloat<T>) {
      if (with_serial_) all.push_back({"serial", [this] { run_reference(expected_->data()); }});
      all.push_back({"gather-sgemm-scatter", [this] { run_sgemm(); }});
    }
    return all;
  }

  std::optional<Footprint> footprint() const override {
    const int64_t elements = sizes_.features_count() + sizes_.filters_count() + sizes_.features_out_count();
    return Footprint{elements * int64_t{sizeof(T)} + sizes_.pairs_count() * int64_t{sizeof(int32_t)},
                     static_cast<int64_t>(workspace_->values().size())};
  }

  std::string verify() override {
    Buffer<double> sums(static_cast<int64_t>(result().values().size()));
    run_reference(sums.data());
    const std::vector<float> expected(sums.values().begin(), sums.values().end());
    result().set_bytes(0xFF);
    run();
    std::vector<float> outputs;
    for (const T value : result().values()) outputs.push_back(test::to_f32(value));
    const auto tolerance = kIsFloat<T> ? kFloatTolerance : kHalfTolerance;
    std::string problem = too_different("gradient", outputs, expected, tolerance);
    if constexpr (kIsFloat<T>) {
      if (problem.empty()) {
        run_sgemm();
        problem = too_different("gather-sgemm-scatter", expected_->values(), expected, kFloatTolerance);
      }
    }
    return problem;
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(result().values())); }

 private:
  static constexpr bool kIsData = kGradient == Gradient::kData;
  static constexpr int64_t kPairBytes = 2 * sizeof(int32_t);
  static constexpr auto kDtype = kIsFloat<T> ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF;

  const Buffer<T>& result() const { return kIsData ? features_ : filters_; }
  Buffer<T>& result() { return kIsData ? features_ : filters_; }

  int64_t used_pairs() const {
    int64_t sum = 0;
    for (const int64_t count : num_) sum += count;
    return sum;
  }

  template <class Sum>
  void run_reference(Sum* sums) {
    if constexpr (kIsData) {
      reference::indice_convolution_backward_data(sizes_, output_grad_.data(), filters_.data(), pairs_.data(),
                                                  num_.data(), sums);
    } else {
      reference::indice_convolution_backward_filter(sizes_, features_.data(), output_grad_.data(), pairs_.data(),
                                                    num_.data(), sums);
    }
  }

  // For each offset: gathers the rows of its pairs, multiplies them and, for the data, scatters the products.
  void run_sgemm() {
    const int64_t Ci = sizes_.Ci, Co = sizes_.Co, L = sizes_.num_act_in;
    float *inputs = gathered_inputs_->data(), *outputs = gathered_outputs_->data(), *sums = expected_->data();
    const auto* features = reinterpret_cast<const float*>(features_.data());
    const auto* output_grad = reinterpret_cast<const float*>(output_grad_.data());
    const auto* filters = reinterpret_cast<const float*>(filters_.data());
    if (kIsData) for_all(L, [=](int64_t row) { std::fill_n(sums + row * Ci, Ci, 0.0F); });
    for (int64_t k = 0; k < sizes_.K(); ++k) {
      const int64_t n = num_[static_cast<size_t>(k)];
      const int32_t* rows_in = pairs_.data() + k * 2 * L;
      const int32_t* rows_out = rows_in + L;
      for_all(n, [=](int64_t l) { std::copy_n(output_grad + rows_out[l] * Co, Co, outputs + l * Co); });
      if (kIsData) {
        sgemm('N', 'T', n, Ci, Co, outputs, Co, filters + k * Ci * Co, Co, inputs);
        for_all(n, [=](int64_t l) {
          float* to = sums + rows_in[l] * Ci;
          // Fixed trip count, which compilers vectorize.
          for (int64_t c = 0; c < Ci; c += 16) {
            for (int64_t i = 0; i < 16; ++i) to[c + i] += inputs[l * Ci + c + i];
          }
        });
      } else if (n == 0) {
        std::fill_n(sums + k * Ci * Co, Ci * Co, 0.0F);
      } else {
        for_all(n, [=](int64_t l) { std::copy_n(features + rows_in[l] * Ci, Ci, inputs + l * Ci); });
        sgemm('T', 'N', Ci, Co, n, inputs, Ci, outputs, Co, sums + k * Ci * Co);
      }
    }
  }

  Sizes sizes_;
  int64_t sub_m_;
  bool with_serial_;
  test::Descriptor features_desc_{kDtype, {sizes_.num_act_in, sizes_.Ci}};
  test::Descriptor filters_desc_{kDtype, {sizes_.D, sizes_.H, sizes_.W, sizes_.Ci, sizes_.Co}};
  test::Descriptor pairs_desc_{MLUOP_DTYPE_INT32, {sizes_.K(), 2, sizes_.num_act_in}};
  test::Descriptor output_grad_desc_{kDtype, {sizes_.num_act_out, sizes_.Co}};
  // One of features and filters is the gradient.
  Buffer<T> features_{sizes_.features_count()}, filters_{sizes_.filters_count()};
  Buffer<T> output_grad_{sizes_.features_out_count()};
  Buffer<int32_t> pairs_{sizes_.pairs_count()};
  std::vector<int64_t> num_;
  std::optional<Buffer<std::byte>> workspace_;
  // Operands of the baselines, float only.
  std::optional<Buffer<float>> gathered_inputs_, gathered_outputs_, expected_;
};

template <class T, Gradient kGradient>
void append_cases(std::vector<CaseSpec>& cases) {
  for (const Convolution& convolution : convolutions()) {
    // For other convolutions the serial loop takes seconds.
    const bool with_serial = convolution.sparse.submanifold && convolution.input.level == 0;
    const char* op =
        kGradient == Gradient::kData ? "indice_convolution_backward_data" : "indice_convolution_backward_filter";
    cases.push_back({op, name_of(convolution), kIsFloat<T> ? "float" : "half", "native", [=](double size) {
                       return std::make_unique<IndiceConvolutionBackward<T, kGradient>>(
                           Pairs(scaled(convolution, size)), convolution.sparse.submanifold,
                           MLUOP_OMP_ALGORITHM_NATIVE, with_serial);
                     }});
  }
}

template <Gradient kGradient>
std::vector<CaseSpec> cases_of() {
  std::vector<CaseSpec> cases;
  append_cases<float, kGradient>(cases);
  append_cases<test::Half, kGradient>(cases);
  return cases;
}

}  // namespace

std::vector<CaseSpec> indice_convolution_backward_data_cases() { return cases_of<Gradient::kData>(); }

std::vector<CaseSpec> indice_convolution_backward_filter_cases() { return cases_of<Gradient::kFilter>(); }

}  // namespace mluop::perf
