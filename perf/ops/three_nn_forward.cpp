// Three nearest neighbors forward at the sizes of PointNet++ (the levels of its feature propagation), and with
// many known points. Points are uniform in a cube, which for a search of three neighbors resembles samples of a
// shape.
#include "reference/three_nn_forward.h"

#include "perf/support/operator_case.h"

namespace mluop::perf::three_nn_forward {
namespace {

struct Row {
  const char* name;
  reference::ThreeNNForwardSizes sizes;
  Points known = Points::kUniform;
};

constexpr Row kCases[] = {{"fp4 2x256_m64", {2, 256, 64}},       {"fp3 2x1024_m256", {2, 1024, 256}},
                          {"fp2 2x4096_m1024", {2, 4096, 1024}}, {"fp1 2x16384_m4096", {2, 16384, 4096}},
                          {"1x4096_m1024", {1, 4096, 1024}},     {"1x16384_m4096", {1, 16384, 4096}}};
// In a uniform grid, the whole cluster lies in one cell.
constexpr Row kCliffCases[] = {{"three_nn uniform", {2, 16384, 4096}},
                               {"three_nn equal", {2, 16384, 4096}, Points::kEqual},
                               {"three_nn cluster", {2, 16384, 4096}, Points::kCluster}};

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  auto [B, N, M] = row.sizes;
  // Scales the batch if there is more than one, otherwise the unknown points.
  int64_t& extent = B > 1 ? B : N;
  extent = scaled(extent, size);
  auto made = make_case("three_nn_forward", variant, {},
                        {{"unknown", variant.dtype, {B, N, 3}},
                         {"known", variant.dtype, {B, M, 3}},
                         {"dist2", variant.dtype, {B, N, 3}},
                         {"idx", MLUOP_DTYPE_INT32, {B, N, 3}}});
  made->fill_uniform("unknown", 1);
  made->fill_points("known", 2, row.known);
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "three_nn_forward", kNative, kCases, make);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make);
  return specs;
}

}  // namespace mluop::perf::three_nn_forward
