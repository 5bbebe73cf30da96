// Indice max pooling forward and backward at the sizes of the levels of SECOND's backbone: 3 x 3 x 3 offsets with
// stride 2; outputs ascend, as in the pairs of mmcv.
#include <algorithm>
#include <random>

#include "perf/support/operator_case.h"

namespace mluop::perf::indice_maxpool {
namespace {

struct Row {
  const char* name;
  int64_t N, M, C;
};

constexpr int64_t kOffsets = 27;
constexpr Row kCases[] = {{"second level1 c16", 80000, 60000, 16},
                          {"second level2 c32", 60000, 30000, 32},
                          {"second level3 c64", 30000, 12000, 64}};

template <bool kForward>
std::unique_ptr<OperatorCase> make(const Row& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size), M = scaled(row.M, size);
  // With stride 2, an input has an output at 27 / 8 offsets on average.
  const int64_t count = N / 8;
  const std::vector<int64_t> indice_num(kOffsets, count);
  const cases::Dims inputs = {N, row.C}, outputs = {M, row.C};
  const TensorShape pairs{"indice_pairs", MLUOP_DTYPE_INT32, {kOffsets, 2, N}};
  std::vector<TensorShape> tensors = {{"features", variant.dtype, inputs}};
  if (kForward) {
    tensors.push_back(pairs);
    tensors.push_back({"features_out", variant.dtype, outputs});
  } else {
    tensors.push_back({"features_out", variant.dtype, outputs});
    tensors.push_back({"output_grad", variant.dtype, outputs});
    tensors.push_back(pairs);
    tensors.push_back({"input_grad", variant.dtype, inputs});
  }
  auto made = make_case(kForward ? "indice_maxpool_forward" : "indice_maxpool_backward", variant,
                        {{"indice_num", indice_num}}, tensors);
  made->fill_uniform("features", 1);
  if constexpr (!kForward) {
    const auto forward = make<true>(row, variant, size);
    forward->run();
    std::ranges::copy(forward->bytes("features_out"), made->bytes("features_out").begin());
    made->fill_uniform("output_grad", 3);
  }
  std::mt19937 random(4);
  const std::span<int32_t> indices = made->values<int32_t>("indice_pairs");
  std::ranges::fill(indices, -1);
  for (int64_t k = 0; k < kOffsets; ++k) {
    for (const auto& [side, rows] : {std::pair{int64_t{0}, N}, {int64_t{1}, M}}) {
      const auto first = indices.begin() + (2 * k + side) * N;
      std::generate_n(first, count, [&] { return static_cast<int32_t>(random() % static_cast<uint64_t>(rows)); });
      std::sort(first, first + count);
    }
  }
  made->dump("indice_num", indice_num);
  if (kForward) made->dump("num_act_out", {M});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "indice_maxpool_forward", kNative, kCases, make<true>);
  append_cases(specs, "indice_maxpool_backward", kNative, kCases, make<false>);
  return specs;
}

}  // namespace mluop::perf::indice_maxpool
