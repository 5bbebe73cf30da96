// Furthest point sampling at the sizes of PointNet++, VoteNet, PointRCNN, PV-RCNN and 3DSSD. Points are uniform in
// a cube, or a LiDAR scan. The matrices of distances have the sizes of 3DSSD and random values.
#include "reference/furthest_point_sample.h"

#include "case/scenes/lidar_scan.h"
#include "perf/support/operator_case.h"

namespace mluop::perf::furthest_point_sample {
namespace {

struct Row {
  const char* name;
  reference::FurthestPointSampleSizes sizes;
  Points points = Points::kUniform;
  bool is_scan = false;
};

constexpr Row kCases[] = {{"pointnet2_sa1 16x4096_m1024", {16, 4096, 1024}},
                          {"pointnet2_sa2 16x1024_m256", {16, 1024, 256}},
                          {"votenet_sa1 8x20000_m2048", {8, 20000, 2048}},
                          {"votenet_sa2 8x2048_m1024", {8, 2048, 1024}},
                          {"pointrcnn_sa1 2x16384_m4096", {2, 16384, 4096}},
                          {"pvrcnn_scan 1x121600_m2048", {1, 121600, 2048}, Points::kUniform, true},
                          {"1x4096_m1024", {1, 4096, 1024}},
                          {"1x16384_m4096", {1, 16384, 4096}},
                          {"1x20000_m2048", {1, 20000, 2048}},
                          {"1x100000_m2048", {1, 100000, 2048}}};
constexpr reference::FurthestPointSampleSizes kCliff = {2, 16384, 4096};
// Points that tie, and numbers of samples at which the number of buckets changes.
constexpr Row kCliffCases[] = {{"furthest_point uniform", kCliff},
                               {"furthest_point equal", kCliff, Points::kEqual},
                               {"furthest_point cluster", kCliff, Points::kCluster},
                               {"furthest_point far", kCliff, Points::kFar},
                               {"furthest_point m15", {2, 16384, 15}},
                               {"furthest_point m31", {2, 16384, 31}},
                               {"furthest_point m127", {2, 16384, 127}},
                               {"furthest_point m128", {2, 16384, 128}}};
constexpr Row kWithDistCases[] = {{"3dssd_sa2 2x4096_m512", {2, 4096, 512}},
                                  {"3dssd_sa3 4x512_m256", {4, 512, 256}},
                                  {"1x4096_m512", {1, 4096, 512}}};

// Scales the number of clouds if there are several, otherwise the number of samples.
reference::FurthestPointSampleSizes scaled_sizes(reference::FurthestPointSampleSizes sizes, double size) {
  int64_t& extent = sizes.B > 1 ? sizes.B : sizes.M;
  extent = scaled(extent, size);
  return sizes;
}

// A turn of the sensor that contains all points.
void set_scan(std::span<float> points) {
  const std::vector<scenes::Position> turn = scenes::lidar_turn(scenes::kKittiLidar, 0, 0);
  for (size_t i = 0; i < points.size(); ++i) points[i] = static_cast<float>(turn[i / 3 % turn.size()][2 - i % 3]);
}

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const auto [B, N, M] = scaled_sizes(row.sizes, size);
  auto made = make_case("furthest_point_sample", variant, {},
                        {{"points", MLUOP_DTYPE_FLOAT, {B, N, 3}}, {"idx", MLUOP_DTYPE_INT32, {B, M}}});
  made->fill_points("points", 1, row.points);
  if (row.is_scan) set_scan(made->values<float>("points"));
  made->dump("samples", {M});
  return made;
}

std::unique_ptr<Case> make_with_dist(const Row& row, const Variant& variant, double size) {
  const auto [B, N, M] = scaled_sizes(row.sizes, size);
  auto made = make_case("furthest_point_sample_with_dist", variant, {},
                        {{"distances", MLUOP_DTYPE_FLOAT, {B, N, N}}, {"idx", MLUOP_DTYPE_INT32, {B, M}}});
  made->fill_uniform("distances", 1);
  const std::span<float> distances = made->values<float>("distances");
  for (float& distance : distances) distance += 1;
  // Zeroes the diagonal: a sample with a nonzero distance to itself may remain the furthest point and repeat.
  for (int64_t i = 0; i < B * N; ++i) distances[static_cast<size_t>(i * N + i % N)] = 0;
  made->dump("samples", {M});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "furthest_point_sample", kNativeFloat, kCases, make);
  append_cases(specs, "furthest_point_sample_with_dist", kNativeFloat, kWithDistCases, make_with_dist);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make);
  return specs;
}

}  // namespace mluop::perf::furthest_point_sample
