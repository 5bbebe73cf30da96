// k nearest neighbors at the sizes of DGCNN and PAConv. Points are uniform in a cube; the centers are all or some
// of the points.
#include "reference/knn.h"

#include "perf/support/operator_case.h"

namespace mluop::perf::knn {
namespace {

struct Row {
  const char* name;
  reference::KnnSizes sizes;
  Points points = Points::kUniform;
};

constexpr Row kCases[] = {
    {"dgcnn 2x4096_k20", {2, 4096, 4096, 20}},          {"paconv_sa1 8x1024_n4096_k32", {8, 1024, 4096, 32}},
    {"paconv_sa2 8x256_n1024_k32", {8, 256, 1024, 32}}, {"1x4096_k20", {1, 4096, 4096, 20}},
    {"1x1024_n4096_k32", {1, 1024, 4096, 32}},          {"1x4096_n16384_k20", {1, 4096, 16384, 20}}};
// Equal distances require the heap.
constexpr Row kCliffCases[] = {{"knn uniform", {2, 1024, 4096, 32}},
                               {"knn equal", {2, 1024, 4096, 32}, Points::kEqual},
                               {"knn cluster", {2, 1024, 4096, 32}, Points::kCluster}};

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  auto [B, M, N, k] = row.sizes;
  // Scales the batch if there is more than one, otherwise the centers.
  int64_t& extent = B > 1 ? B : M;
  extent = scaled(extent, size);
  auto made = make_case("knn", variant, {{"k", k}},
                        {{"xyz", variant.dtype, {B, N, 3}},
                         {"new_xyz", variant.dtype, {B, M, 3}},
                         {"idx", MLUOP_DTYPE_INT32, {B, M, k}},
                         {"dist2", variant.dtype, {B, M, k}}});
  made->fill_points("xyz", 1, row.points);
  // Every (N / M)-th point.
  const std::span<const float> xyz = made->values<float>("xyz");
  const std::span<float> new_xyz = made->values<float>("new_xyz");
  for (int64_t center = 0; center < B * M; ++center) {
    const int64_t point = center / M * N + center % M * N / M;
    std::copy_n(xyz.data() + point * 3, 3, new_xyz.data() + center * 3);
  }
  made->dump("k", {k});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "knn", kNativeFloat, kCases, make);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make);
  return specs;
}

}  // namespace mluop::perf::knn
