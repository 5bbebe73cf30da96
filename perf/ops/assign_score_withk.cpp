// Assign score with k forward and backward at the sizes of PAConv: 16 kernels, 32 neighbors.
#include <random>

#include "perf/support/operator_case.h"

namespace mluop::perf::assign_score_withk {
namespace {

struct Row {
  const char* name;
  int64_t B, N0, N1, M, K, O;
  bool equal = false;  // all neighbors are one point
};

constexpr Row kCases[] = {{"paconv 8x4096 k32 m16 c32", 8, 4096, 1024, 16, 32, 32},
                          {"paconv 8x1024 k32 m16 c64", 8, 1024, 256, 16, 32, 64},
                          {"paconv 8x256 k32 m16 c128", 8, 256, 64, 16, 32, 128},
                          {"paconv 8x4096 k32 m16 c64 all centers", 8, 4096, 4096, 16, 32, 64}};
constexpr Row kCliffCases[] = {{"assign_score uniform", 2, 1024, 1024, 16, 32, 64},
                               {"assign_score equal", 2, 1024, 1024, 16, 32, 64, true}};

template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const int64_t B = scaled(row.B, size);
  const cases::Dims matrices = {B, row.N0, row.M, row.O}, outputs = {B, row.O, row.N1, row.K},
                    scores = {B, row.N1, row.K, row.M};
  std::vector<TensorShape> tensors = {{"points", variant.dtype, matrices},
                                      {"centers", variant.dtype, matrices},
                                      {"scores", variant.dtype, scores},
                                      {"knn_idx", MLUOP_DTYPE_INT32, {B, row.N1, row.K}}};
  if (kForward) {
    tensors.push_back({"output", variant.dtype, outputs});
  } else {
    tensors.insert(tensors.begin(), {"grad_output", variant.dtype, outputs});
    tensors.push_back({"grad_points", variant.dtype, matrices});
    tensors.push_back({"grad_centers", variant.dtype, matrices});
    tensors.push_back({"grad_scores", variant.dtype, scores});
  }
  auto made =
      make_case(kForward ? "assign_score_withk_forward" : "assign_score_withk_backward", variant, {}, tensors);
  made->fill_uniform("points", 1);
  made->fill_uniform("centers", 2);
  made->fill_uniform("scores", 3);
  if (!kForward) made->fill_uniform("grad_output", 4);
  std::mt19937 random(5);
  for (int32_t& index : made->values<int32_t>("knn_idx")) {
    index = static_cast<int32_t>(row.equal ? row.N0 / 2 : random() % static_cast<uint64_t>(row.N0));
  }
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "assign_score_withk_forward", kNative, kCases, make<true>);
  append_cases(specs, "assign_score_withk_backward", kNative, kCases, make<false>);
  append_cases(specs, kCliffs, kNative, kCliffCases, make<true>);
  return specs;
}

}  // namespace mluop::perf::assign_score_withk
