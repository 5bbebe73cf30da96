// Ball query at the sizes of the set abstraction levels of PointNet++, VoteNet and PointRCNN. Points are uniform
// in a cube; the centers are some of them. Scenes of VoteNet and PointRCNN are scaled so that the balls hold about
// as many points as in their data. Stacked ball query: the key points of PV-RCNN among the points and the voxels
// of its backbone, scaled likewise, and the grids of its RoIs.
#include "reference/ball_query.h"

#include "perf/support/operator_case.h"

namespace mluop::perf::ball_query {
namespace {

using Problem = reference::BallQueryProblem;

struct Row {
  const char* name;
  Problem problem;
  Points points = Points::kUniform;
};

constexpr Row kCases[] = {{"pointnet2_sa1 16x512_n1024", {16, 512, 1024, 32, 0, 0.2F}},
                          {"pointnet2_sa2 16x128_n512", {16, 128, 512, 64, 0, 0.4F}},
                          {"votenet_sa1 8x2048_n20000", {8, 2048, 20000, 64, 0, 0.1F}},
                          {"votenet_sa2 8x1024_n2048", {8, 1024, 2048, 32, 0, 0.3F}},
                          {"pointrcnn_sa1 2x4096_n16384", {2, 4096, 16384, 32, 0, 0.05F}},
                          {"pointrcnn_sa2 2x1024_n4096", {2, 1024, 4096, 32, 0.1F, 0.2F}},
                          {"1x4096_n16384", {1, 4096, 16384, 32, 0, 0.05F}}};

// Clouds of equal sizes.
struct StackRow {
  const char* name;
  int64_t clouds, M, N, nsample;
  float max_radius;
};

constexpr StackRow kStackCases[] = {{"pv_rcnn raw r0.4 2x2048_n20000", 2, 2048, 20000, 16, 0.05F},
                                    {"pv_rcnn raw r0.8 2x2048_n20000", 2, 2048, 20000, 16, 0.1F},
                                    {"pv_rcnn conv2 r1.2 2x2048_n30000", 2, 2048, 30000, 32, 0.15F},
                                    {"pv_rcnn conv4 r2.4 2x2048_n12000", 2, 2048, 12000, 16, 0.2F},
                                    {"pv_rcnn conv4 r4.8 2x2048_n12000", 2, 2048, 12000, 32, 0.4F},
                                    {"pv_rcnn roi r0.8 2x27648_n2048", 2, 27648, 2048, 16, 0.2F},
                                    {"pv_rcnn roi r1.6 2x27648_n2048", 2, 27648, 2048, 16, 0.4F}};

constexpr Problem kCliff = {2, 4096, 16384, 32, 0, 0.05F};
constexpr Row kCliffCases[] = {{"ball_query uniform", kCliff},
                               {"ball_query equal", kCliff, Points::kEqual},
                               {"ball_query cluster", kCliff, Points::kCluster},
                               {"ball_query far", kCliff, Points::kFar}};

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  Problem p = row.problem;
  // Scales the batch if there is more than one, otherwise the centers.
  int64_t& extent = p.B > 1 ? p.B : p.M;
  extent = scaled(extent, size);
  auto made = make_case("ball_query", variant,
                        {{"min_radius", p.min_radius}, {"max_radius", p.max_radius}, {"nsample", p.nsample}},
                        {{"new_xyz", variant.dtype, {p.B, p.M, 3}},
                         {"xyz", variant.dtype, {p.B, p.N, 3}},
                         {"idx", MLUOP_DTYPE_INT32, {p.B, p.M, p.nsample}}});
  made->fill_points("xyz", 1, row.points);
  // Every (N / M)-th point.
  const auto point_bytes = static_cast<int64_t>(3 * cases::element_size(variant.dtype));
  for (int64_t center = 0; center < p.B * p.M; ++center) {
    const int64_t point = center / p.M * p.N + center % p.M * p.N / p.M;
    std::copy_n(made->bytes("xyz").begin() + point * point_bytes, point_bytes,
                made->bytes("new_xyz").begin() + center * point_bytes);
  }
  made->dump<float>("radii", {p.min_radius, p.max_radius});
  made->dump("nsample", {p.nsample});
  return made;
}

std::unique_ptr<Case> make_stacked(const StackRow& row, const Variant& variant, double size) {
  const int64_t M = scaled(row.M, size);
  auto made = make_case("stack_ball_query", variant, {{"max_radius", row.max_radius}, {"nsample", row.nsample}},
                        {{"new_xyz", variant.dtype, {row.clouds * M, 3}},
                         {"new_xyz_batch_cnt", MLUOP_DTYPE_INT32, {row.clouds}},
                         {"xyz", variant.dtype, {row.clouds * row.N, 3}},
                         {"xyz_batch_cnt", MLUOP_DTYPE_INT32, {row.clouds}},
                         {"idx", MLUOP_DTYPE_INT32, {row.clouds * M, row.nsample}}});
  made->fill_uniform("new_xyz", 2);
  made->fill_uniform("xyz", 1);
  std::ranges::fill(made->values<int32_t>("new_xyz_batch_cnt"), static_cast<int32_t>(M));
  std::ranges::fill(made->values<int32_t>("xyz_batch_cnt"), static_cast<int32_t>(row.N));
  made->dump<float>("radii", {0, row.max_radius});
  made->dump("nsample", {row.nsample});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "ball_query", kNative, kCases, make);
  append_cases(specs, "stack_ball_query", kNative, kStackCases, make_stacked);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make);
  return specs;
}

}  // namespace mluop::perf::ball_query
