// Three nearest neighbors forward at the sizes of PointNet++ (the levels of its feature propagation), and with
// many known points. Points are uniform in a cube, as samples of a shape are to a search of three.
#include "reference/three_nn_forward.h"

#include "perf/ops/catalogue.h"
#include "perf/support/operator_case.h"

namespace mluop::perf {
namespace {

using Sizes = reference::ThreeNNForwardSizes;
enum class Points { kUniform, kEqual, kCluster };

struct Row {
  const char* name;
  Sizes sizes;
  Points points = Points::kUniform;
};

constexpr Row kCases[] = {{"fp4 2x256_m64", {2, 256, 64}},       {"fp3 2x1024_m256", {2, 1024, 256}},
                          {"fp2 2x4096_m1024", {2, 4096, 1024}}, {"fp1 2x16384_m4096", {2, 16384, 4096}},
                          {"1x4096_m1024", {1, 4096, 1024}},     {"1x16384_m4096", {1, 16384, 4096}}};
constexpr Row kCliffCases[] = {{"three_nn uniform", {2, 16384, 4096}, Points::kUniform},
                               {"three_nn equal", {2, 16384, 4096}, Points::kEqual},
                               {"three_nn cluster", {2, 16384, 4096}, Points::kCluster}};

// Scales the batch if the case has more than one, else the unknown points.
Sizes scaled(Sizes sizes, double size) {
  int64_t& extent = sizes.B > 1 ? sizes.B : sizes.N;
  extent = perf::scaled(extent, size);
  return sizes;
}

// Cliffs are float.
void move_points(Points points, int64_t M, std::span<float> known) {
  for (size_t i = 0; i < known.size(); ++i) {
    if (points == Points::kEqual) known[i] = known[0];
    // All points but the first of a batch in a corner: a uniform grid has them in one cell.
    if (points == Points::kCluster && i / 3 % static_cast<size_t>(M) != 0) known[i] *= 0x1p-8F;
  }
}

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const auto [B, N, M] = scaled(row.sizes, size);
  auto made = std::make_unique<OperatorCase>("three_nn_forward", variant.algorithm, cases::Parameters(),
                                             std::vector<TensorShape>{{"unknown", variant.dtype, {B, N, 3}},
                                                                      {"known", variant.dtype, {B, M, 3}},
                                                                      {"dist2", variant.dtype, {B, N, 3}},
                                                                      {"idx", MLUOP_DTYPE_INT32, {B, N, 3}}});
  made->fill_uniform("unknown", 1);
  made->fill_uniform("known", 2);
  if (row.points != Points::kUniform) move_points(row.points, M, made->values<float>("known"));
  return made;
}

}  // namespace

std::vector<CaseSpec> three_nn_forward_cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "three_nn_forward", kNative, kCases, make);
  return specs;
}

std::vector<CaseSpec> three_nn_forward_cliffs() {
  std::vector<CaseSpec> specs;
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make);
  return specs;
}

}  // namespace mluop::perf
