// Indice convolution forward and its gradients at the sizes of CenterPoint's backbone, on LiDAR scans: the
// strided convolutions of the design document and 3 x 3 x 3 submanifold convolutions on the same inputs. The
// number of input sites is that of the document; the number of output sites follows from the pairs.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "perf/bounds/indice_convolution_forward.h"
#include "perf/ops/catalogue.h"
#include "perf/ops/center_point_convolutions.h"
#include "perf/ops/gather_sgemm_scatter.h"
#include "perf/support/npy_folder.h"
#include "perf/support/operator_case.h"
#include "perf/support/verify.h"
#include "reference/indice_convolution_backward.h"

namespace mluop::perf {
namespace {

using Sizes = reference::IndiceConvolutionForwardSizes;

enum class Kind { kForward, kData, kFilter };

// The pairs of a convolution, the sizes that follow from them, and the baselines that are measured.
struct Problem {
  test::IndicePairs pairs;
  Sizes sizes;
  bool submanifold = false, with_serial = false;
  bool with_sgemm = false;  // the pairs meet the requirements of GatherSgemmScatter
};

// All inputs in each of 27 offsets, 32 x 64 channels, onto outputs drawn from `rows`; with distinct outputs, none
// occurs twice in an offset.
Problem random_problem(int64_t inputs, int64_t rows, bool distinct) {
  Problem problem{{}, {inputs, rows, 32, 64, 3, 3, 3}};
  std::mt19937 random(3);
  std::vector<int32_t>& pairs = problem.pairs.pairs;
  std::vector<int32_t> outputs(static_cast<size_t>(distinct ? rows : inputs));
  std::iota(outputs.begin(), outputs.end(), 0);
  for (int64_t k = 0; k < problem.sizes.K(); ++k) {
    for (int32_t l = 0; l < inputs; ++l) pairs.push_back(l);
    if (distinct) {
      std::ranges::sample(outputs, std::back_inserter(pairs), inputs, random);
    } else {
      std::uniform_int_distribution<int32_t> row(0, static_cast<int32_t>(rows - 1));
      for (int64_t l = 0; l < inputs; ++l) pairs.push_back(row(random));
    }
  }
  problem.pairs.num.assign(static_cast<size_t>(problem.sizes.K()), inputs);
  return problem;
}

Problem problem_of(const Convolution& convolution, double size) {
  const test::SparseConvolution& sparse = convolution.sparse;
  const auto tensor = test::center_point_tensor(scaled(convolution.input, size));
  Problem problem{test::indice_pairs(tensor.sites, tensor.grid, sparse), {}, sparse.submanifold};
  // For other convolutions the serial loop takes seconds.
  problem.with_serial = sparse.submanifold && convolution.input.level == 0;
  problem.with_sgemm = true;
  const auto& [depth, height, width] = sparse.kernel;
  problem.sizes = {static_cast<int64_t>(tensor.sites.size()),
                   static_cast<int64_t>(problem.pairs.outputs.size()),
                   convolution.Ci,
                   convolution.Co,
                   depth,
                   height,
                   width};
  return problem;
}

cases::Parameters parameters_of(Kind kind, const Problem& problem) {
  cases::Parameters parameters;
  if (kind == Kind::kForward) parameters.set("num_active_out", problem.sizes.num_act_out);
  parameters.set("inverse", 0);
  parameters.set("sub_m", problem.submanifold ? 1 : 0);
  parameters.set("indice_num", problem.pairs.num);
  return parameters;
}

std::vector<TensorShape> tensors_of(Kind kind, const Sizes& s, mluOpDataType_t dtype) {
  const TensorShape pairs{"indice_pairs", MLUOP_DTYPE_INT32, {s.K(), 2, s.num_act_in}};
  const TensorShape output_grad{"output_grad", dtype, {s.num_act_out, s.Co}};
  const TensorShape features{kind == Kind::kData ? "input_grad" : "features", dtype, {s.num_act_in, s.Ci}};
  const TensorShape filters{
      kind == Kind::kFilter ? "filters_grad" : "filters", dtype, {s.D, s.H, s.W, s.Ci, s.Co}};
  switch (kind) {
    case Kind::kForward: return {features, filters, pairs, {"features_out", dtype, {s.num_act_out, s.Co}}};
    case Kind::kData: return {output_grad, filters, pairs, features};
    case Kind::kFilter: break;
  }
  return {features, output_grad, pairs, filters};
}

constexpr const char* kOps[] = {"indice_convolution_forward", "indice_convolution_backward_data",
                                "indice_convolution_backward_filter"};

class IndiceConvolution : public OperatorCase {
 public:
  IndiceConvolution(Kind kind, const Variant& variant, const Problem& problem)
      : OperatorCase(kOps[static_cast<int>(kind)], variant.algorithm, parameters_of(kind, problem),
                     tensors_of(kind, problem.sizes, variant.dtype)),
        kind_(kind),
        sizes_(problem.sizes),
        num_(problem.pairs.num),
        with_serial_(problem.with_serial) {
    set("indice_pairs", problem.pairs.pairs);
    if (kind != Kind::kData) fill_uniform("features", 1);
    if (kind != Kind::kForward) fill_uniform("output_grad", 2);
    if (kind != Kind::kFilter) fill_uniform("filters", kind == Kind::kForward ? 2 : 3);
    set_largest_input(kind == Kind::kForward ? "features" : "output_grad");
    measure_memory();
    set_parameter_writer([this, sub_m = problem.submanifold ? 1 : 0](const NpyFolder& folder) {
      folder.write("indice_num", num_);
      folder.write("sub_m", {sub_m});
      if (kind_ == Kind::kForward) folder.write("num_act_out", {sizes_.num_act_out});
    });
    if (kind == Kind::kForward) set_bound([this] { return forward_bound(); });
    if (variant.dtype == MLUOP_DTYPE_HALF || !problem.with_sgemm) return;
    result_.emplace(arguments()[kOutput].count());
    sgemm_.emplace(sizes_, pairs(), num_.data(), *std::ranges::max_element(num_));
  }

  std::vector<Baseline> baselines() override {
    std::vector<Baseline> all;
    if (!result_) return all;
    if (with_serial_) all.push_back({"serial", serial()});
    all.push_back({"gather-sgemm-scatter", [this] { run_sgemm(); }});
    return all;
  }

 protected:
  // The oracle of the description on all threads.
  void expect() override {
    if (kind_ != Kind::kForward) return OperatorCase::expect();
    cases::Operand& output = expected()[kOutput];
    output.sums.assign(static_cast<size_t>(output.count()), 0);
    const int threads = thread_count();
    const auto compute = [&]<class T>(const T* features, const T* filters) {
      parallel(threads, [&](int id) {
        reference::indice_convolution_forward(sizes_, features, reference::FilterLayout::kArray, filters, pairs(),
                                              num_.data(), share(sizes_.Co, threads, id),
                                              share(sizes_.Co, threads, id + 1), output.sums.data());
      });
    };
    if (output.is_half()) {
      compute(arguments()[0].as<test::Half>(), arguments()[1].as<test::Half>());
    } else {
      compute(arguments()[0].as<float>(), arguments()[1].as<float>());
    }
  }

  // The error of a sum in fp32 grows with the square root of the number of its products.
  double tolerance(double threshold) const override {
    if (kind_ != Kind::kForward) return threshold;
    const auto products = static_cast<double>(std::accumulate(num_.begin(), num_.end(), int64_t{0}) * sizes_.Ci) /
                          static_cast<double>(sizes_.num_act_out);
    return std::max(threshold, std::sqrt(products) * 0x1p-24);
  }

  std::string verify_baselines() override {
    if (!sgemm_) return {};
    run_sgemm();
    constexpr double kTolerance = 1e-5;
    return too_different("gather-sgemm-scatter", result_->values(), expected_values(kOutput), kTolerance);
  }

 private:
  static constexpr size_t kPairs = 2, kOutput = 3;

  const int32_t* pairs() const { return arguments()[kPairs].as<int32_t>(); }

  std::function<void()> forward_bound() const {
    const cases::Operand& features = arguments()[0];
    return features.is_half() ? indice_convolution_forward_bound(sizes_, features.as<test::Half>(), pairs(),
                                                                 num_.data(), thread_count())
                              : indice_convolution_forward_bound(sizes_, features.as<float>(), pairs(),
                                                                 num_.data(), thread_count());
  }

  // The definition's loop in fp32.
  std::function<void()> serial() {
    const float *first = arguments()[0].as<float>(), *second = arguments()[1].as<float>();
    switch (kind_) {
      case Kind::kForward: break;
      case Kind::kData:
        return [=, this] {
          reference::indice_convolution_backward_data(sizes_, first, second, pairs(), num_.data(),
                                                      result_->data());
        };
      case Kind::kFilter:
        return [=, this] {
          reference::indice_convolution_backward_filter(sizes_, first, second, pairs(), num_.data(),
                                                        result_->data());
        };
    }
    // [Co, D, H, W, Ci]
    std::vector<float> filters;
    for (int64_t co = 0; co < sizes_.Co; ++co) {
      for (int64_t row = 0; row < sizes_.K() * sizes_.Ci; ++row) filters.push_back(second[row * sizes_.Co + co]);
    }
    return [=, this] {
      reference::indice_convolution_forward(sizes_, first, filters.data(), pairs(), num_.data(), result_->data());
    };
  }

  void run_sgemm() {
    const float *first = arguments()[0].as<float>(), *second = arguments()[1].as<float>();
    switch (kind_) {
      case Kind::kForward: return sgemm_->forward(first, second, result_->data());
      case Kind::kData: return sgemm_->backward_data(first, second, result_->data());
      case Kind::kFilter: return sgemm_->backward_filter(first, second, result_->data());
    }
  }

  Kind kind_;
  Sizes sizes_;
  std::vector<int64_t> num_;
  bool with_serial_;
  // Results of the baselines, which are in float only.
  std::optional<Buffer<float>> result_;
  std::optional<GatherSgemmScatter> sgemm_;
};

struct Row {
  std::string name;
  Convolution convolution;
};

template <Kind kKind>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  return std::make_unique<IndiceConvolution>(kKind, variant, problem_of(row.convolution, size));
}

struct Cliff {
  const char* name;
  int64_t rows;
  bool distinct = false;
};
constexpr Cliff kCliffCases[] = {{"indice_convolution distinct", 200000, true},
                                 {"indice_convolution m200000", 200000},
                                 {"indice_convolution m1000", 1000},
                                 {"indice_convolution m63", 63},
                                 {"indice_convolution m8", 8},
                                 {"indice_convolution m1", 1}};

std::unique_ptr<Case> make_cliff(const Cliff& cliff, const Variant& variant, double size) {
  constexpr int64_t kInputs = 66667;
  const int64_t inputs = std::min(scaled(kInputs, size), cliff.distinct ? cliff.rows : INT64_MAX);
  return std::make_unique<IndiceConvolution>(Kind::kForward, variant,
                                             random_problem(inputs, cliff.rows, cliff.distinct));
}

}  // namespace

std::vector<CaseSpec> indice_convolution_cases() {
  std::vector<Row> rows;
  for (const Convolution& convolution : convolutions()) rows.push_back({name_of(convolution), convolution});
  std::vector<CaseSpec> specs;
  append_cases(specs, kOps[0], kNativeAndDevice, rows, make<Kind::kForward>);
  append_cases(specs, kOps[1], kNative, rows, make<Kind::kData>);
  append_cases(specs, kOps[2], kNative, rows, make<Kind::kFilter>);
  return specs;
}

std::vector<CaseSpec> indice_convolution_cliffs() {
  std::vector<CaseSpec> specs;
  append_cases(specs, kCliffs, kNativeAndDevice, kCliffCases, make_cliff);
  return specs;
}

}  // namespace mluop::perf
