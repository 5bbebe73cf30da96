// Indice convolution forward and its gradients at the sizes of CenterPoint's backbone, on LiDAR scans: the strided
// convolutions of the design document and 3 x 3 x 3 submanifold convolutions on the same inputs. The document
// states the number of input sites; the pairs determine the number of output sites.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <string>

#include "case/description.h"
#include "perf/bounds/indice_convolution_forward.h"
#include "perf/ops/center_point_inputs.h"
#include "perf/ops/gather_sgemm_scatter.h"
#include "perf/support/operator_case.h"
#include "perf/support/verify.h"

namespace mluop::perf::indice_convolution {
namespace {

using Sizes = reference::IndiceConvolutionForwardSizes;

// The pairs of a convolution, the sizes that they determine, and the baselines to measure.
struct Problem {
  scenes::IndicePairs pairs;
  Sizes sizes;
  bool submanifold = false, with_serial = false;
  bool with_sgemm = false;  // the pairs meet the requirements of GatherSgemmScatter
};

// All inputs in each of 27 offsets, 32 x 64 channels, with outputs drawn from `rows`; if `distinct`, no output
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

struct Row {
  const char* name;
  scenes::CenterPointInput input;
  scenes::SparseConvolution sparse;
  int64_t Ci, Co;
};

// Strided convolutions, submanifold convolutions on the same inputs, and the last submanifold convolutions of deep
// networks: few sites and wide filters.
std::vector<Row> rows() {
  const auto& inputs = scenes::kCenterPointInputs;
  const auto& steps = scenes::kCenterPointSteps;
  const scenes::SparseConvolution cube = scenes::submanifold({3, 3, 3});
  return {{"k333_16x32", inputs[0], steps[0], 16, 32},
          {"k333_32x64", inputs[1], steps[1], 32, 64},
          {"k333_64x128", inputs[2], steps[2], 64, 128},
          {"k311_128x128", inputs[3], steps[3], 128, 128},
          {"subm_16x16", inputs[0], cube, 16, 16},
          {"subm_32x32", inputs[1], cube, 32, 32},
          {"subm_64x64", inputs[2], cube, 64, 64},
          {"subm_128x128", inputs[3], cube, 128, 128},
          {"60_sites_512x512", {3, 60, 1}, cube, 512, 512},
          {"292_sites_512x512", {3, 292, 1}, cube, 512, 512},
          {"1000_sites_256x256", {3, 1000, 1}, cube, 256, 256}};
}

Problem problem_of(const Row& row, double size) {
  const scenes::SparseConvolution& sparse = row.sparse;
  const auto tensor = scenes::center_point_tensor(scaled(row.input, size));
  Problem problem{scenes::indice_pairs(tensor.sites, tensor.grid, sparse), {}, sparse.submanifold};
  problem.with_serial = sparse.submanifold && row.input.level == 0;
  problem.with_sgemm = true;
  const auto& [depth, height, width] = sparse.kernel;
  const auto inputs = static_cast<int64_t>(tensor.sites.size());
  const auto outputs = static_cast<int64_t>(problem.pairs.outputs.size());
  problem.sizes = {inputs, outputs, row.Ci, row.Co, depth, height, width};
  return problem;
}

std::vector<NamedValue> parameters_of(Kind kind, const Problem& problem) {
  std::vector<NamedValue> parameters = {
      {"inverse", 0}, {"sub_m", problem.submanifold ? 1 : 0}, {"indice_num", problem.pairs.num}};
  if (kind == Kind::kForward) parameters.push_back({"num_active_out", problem.sizes.num_act_out});
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

constexpr size_t kPairs = 2, kOutput = 3;

const int64_t* indice_num(const cases::Arguments& a) { return a.parameters->list("indice_num").data(); }

// The oracle of the description on all threads.
void expect_forward(const Sizes& sizes, cases::Arguments& a) {
  std::vector<double>& sums = a[kOutput].sums;
  sums.assign(static_cast<size_t>(a[kOutput].count()), 0);
  const int threads = thread_count();
  const auto compute = [&]<class T>(const T* features) {
    parallel(threads, [&](int id) {
      reference::indice_convolution_forward(sizes, features, reference::FilterLayout::kArray, a[1].as<T>(),
                                            a[kPairs].as<int32_t>(), indice_num(a), share(sizes.Co, threads, id),
                                            share(sizes.Co, threads, id + 1), sums.data());
    });
  };
  cases::with_element_type(a[0], [&]<class T>() { compute(a[0].as<T>()); });
}

// Gather-GEMM-scatter, and the oracle unless it takes seconds.
void set_baselines(OperatorCase& made, Kind kind, const Problem& problem) {
  const cases::Arguments& a = made.expected();
  const auto result = std::make_shared<Buffer<float>>(a[kOutput].count());
  const auto sgemm = std::make_shared<GatherSgemmScatter>(problem.sizes, a[kPairs].as<int32_t>(), indice_num(a),
                                                          *std::ranges::max_element(problem.pairs.num));
  const auto run = [=, first = a[0].as<float>(), second = a[1].as<float>()] {
    sgemm->run(kind, first, second, result->data());
  };
  if (!problem.with_serial) made.options.baselines.clear();
  made.options.baselines.push_back({"gather-sgemm-scatter", run});
  made.options.verify_baselines = [=, &a] {
    run();
    constexpr double kTolerance = 1e-5;
    return too_different("gather-sgemm-scatter", result->values(), floats_of(a[kOutput]), kTolerance);
  };
}

std::unique_ptr<Case> make_convolution(Kind kind, const Variant& variant, const Problem& problem) {
  const bool is_forward = kind == Kind::kForward;
  const Sizes sizes = problem.sizes;
  auto made = make_case(kOps[static_cast<int>(kind)], variant, parameters_of(kind, problem),
                        tensors_of(kind, sizes, variant.dtype));
  made->set("indice_pairs", problem.pairs.pairs);
  if (kind != Kind::kData) made->fill_uniform("features", 1);
  if (!is_forward) made->fill_uniform("output_grad", 2);
  if (kind != Kind::kFilter) made->fill_uniform("filters", is_forward ? 2 : 3);
  made->options.largest_input = made->bytes(is_forward ? "features" : "output_grad");
  made->options.measures_memory = true;
  made->dump("indice_num", problem.pairs.num);
  made->dump("sub_m", {problem.submanifold ? 1 : 0});
  if (problem.with_sgemm && variant.dtype == MLUOP_DTYPE_FLOAT) set_baselines(*made, kind, problem);
  if (!is_forward) return made;
  made->dump("num_act_out", {sizes.num_act_out});
  made->options.oracle = [sizes](cases::Arguments& a) { expect_forward(sizes, a); };
  // The error of an fp32 sum grows with the square root of the number of its products.
  const std::vector<int64_t>& num = problem.pairs.num;
  const auto products = static_cast<double>(std::accumulate(num.begin(), num.end(), int64_t{0}) * sizes.Ci) /
                        static_cast<double>(sizes.num_act_out);
  made->options.min_tolerance = std::sqrt(products) * 0x1p-24;
  made->options.bound = [&made = *made, sizes] {
    const cases::Arguments& a = made.expected();
    return indice_convolution_forward_bound(
        {sizes, a[0].dtype, a[0].data, a[1].data, a[kPairs].as<int32_t>(), indice_num(a), a[kOutput].data},
        thread_count());
  };
  return made;
}

template <Kind kKind>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  return make_convolution(kKind, variant, problem_of(row, size));
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
  return make_convolution(Kind::kForward, variant, random_problem(inputs, cliff.rows, cliff.distinct));
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, kOps[0], kNativeAndDevice, rows(), make<Kind::kForward>);
  append_cases(specs, kOps[1], kNative, rows(), make<Kind::kData>);
  append_cases(specs, kOps[2], kNative, rows(), make<Kind::kFilter>);
  append_cases(specs, kCliffs, kNativeAndDevice, kCliffCases, make_cliff);
  return specs;
}

}  // namespace mluop::perf::indice_convolution
