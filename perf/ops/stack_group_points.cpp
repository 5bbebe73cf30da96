// Stack group points forward and backward at the sizes of PV-RCNN: key points among the points and the voxels of
// its backbone, and the grids of its RoIs.
#include <algorithm>
#include <random>

#include "perf/support/operator_case.h"

namespace mluop::perf::stack_group_points {
namespace {

// Clouds of equal sizes.
struct Row {
  const char* name;
  int64_t clouds, C, N, M, samples;
  bool equal = false;  // all samples name one feature
};

constexpr Row kForwardCases[] = {
    {"pv_rcnn raw xyz", 2, 3, 20000, 2048, 16},    {"pv_rcnn raw c1", 2, 1, 20000, 2048, 16},
    {"pv_rcnn conv1 c16", 2, 16, 30000, 2048, 16}, {"pv_rcnn conv2 c32", 2, 32, 30000, 2048, 32},
    {"pv_rcnn conv4 c64", 2, 64, 12000, 2048, 32}, {"pv_rcnn roi xyz", 2, 3, 2048, 27648, 16},
    {"pv_rcnn roi c128", 2, 128, 2048, 27648, 16},
};
// Cases of points without features have no gradient.
constexpr Row kBackwardCases[] = {
    {"pv_rcnn conv1 c16", 2, 16, 30000, 2048, 16},
    {"pv_rcnn conv2 c32", 2, 32, 30000, 2048, 32},
    {"pv_rcnn conv4 c64", 2, 64, 12000, 2048, 32},
    {"pv_rcnn roi c128", 2, 128, 2048, 27648, 16},
};
constexpr Row kForwardCliffs[] = {{"stack_group_forward uniform", 2, 64, 12000, 2048, 32},
                                  {"stack_group_forward equal", 2, 64, 12000, 2048, 32, true}};
constexpr Row kBackwardCliffs[] = {{"stack_group_backward uniform", 2, 64, 12000, 2048, 32},
                                   {"stack_group_backward equal", 2, 64, 12000, 2048, 32, true}};

template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const int64_t M = scaled(row.M, size);
  const TensorShape features{kForward ? "features" : "grad_features", variant.dtype, {row.clouds * row.N, row.C}},
      groups{kForward ? "output" : "grad_output", variant.dtype, {row.clouds * M, row.C, row.samples}},
      indices{"indices", MLUOP_DTYPE_INT32, {row.clouds * M, row.samples}},
      feature_counts{"features_batch_cnt", MLUOP_DTYPE_INT32, {row.clouds}},
      group_counts{"indices_batch_cnt", MLUOP_DTYPE_INT32, {row.clouds}};
  using Shapes = std::vector<TensorShape>;
  auto made = make_case(kForward ? "stack_group_points_forward" : "stack_group_points_backward", variant, {},
                        kForward ? Shapes{features, feature_counts, indices, group_counts, groups}
                                 : Shapes{groups, indices, group_counts, feature_counts, features});
  made->fill_uniform(kForward ? "features" : "grad_output", 1);
  std::ranges::fill(made->values<int32_t>("features_batch_cnt"), static_cast<int32_t>(row.N));
  std::ranges::fill(made->values<int32_t>("indices_batch_cnt"), static_cast<int32_t>(M));
  std::mt19937 random(2);
  for (int32_t& index : made->values<int32_t>("indices")) {
    index = static_cast<int32_t>(row.equal ? row.N / 2 : random() % static_cast<uint64_t>(row.N));
  }
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "stack_group_points_forward", kNative, kForwardCases, make<true>);
  append_cases(specs, "stack_group_points_backward", kNative, kBackwardCases, make<false>);
  append_cases(specs, kCliffs, kNative, kForwardCliffs, make<true>);
  append_cases(specs, kCliffs, kNative, kBackwardCliffs, make<false>);
  return specs;
}

}  // namespace mluop::perf::stack_group_points
