// Operators on points and voxels with tensors of more than 2^31 elements: every element against the oracle or the
// definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "large/large_call.h"
#include "support/values.h"

namespace mluop::test {
namespace {

TEST(LargeBallQuery, Idx) {
  MLUOP_REQUIRE_MEMORY(9);
  cases::Case small =
      make_case("ball_query", MLUOP_DTYPE_FLOAT, {{"b", 2}, {"m", 40}, {"n", 1'000}, {"nsample", 192'000}});
  small.parameters.set_real("max_radius", 0.8);
  LargeCall({.small = small,
             .axes = {random_axis("center", 40, 5'600)},
             .large = {"idx"},
             .repeated = {"new_xyz", "idx"}})
      .expect_result();
}

// Boxes without extent contain no point.
TEST(LargePointsInBoxesAll, IsInside) {
  MLUOP_REQUIRE_MEMORY(9);
  LargeCall({.small = make_case("points_in_boxes_all", MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 40'000}, {"t", 50}}),
             .axes = {random_axis("box", 50, 53'700)},
             .large = {"is_inside"}})
      .expect_result();
}

TEST(LargeRoiawarePool3dForward, PtsIdxOfVoxels) {
  MLUOP_REQUIRE_MEMORY(9);
  LargeCall({.small = make_case("roiaware_pool3d_forward", MLUOP_DTYPE_FLOAT, {{"c", 1}, {"p", 200}}),
             .axes = {random_axis("roi", 6, 447'500)},
             .large = {"pts_idx_of_voxels"},
             .negative = {"argmax"},
             .parameters = {{"boxes_num", 447'500}}})
      .expect_result();
}

// The first box and the boxes beyond the small case have no extent.
TEST(LargeRoipointPool3d, PooledFeatures) {
  MLUOP_REQUIRE_MEMORY(5);
  cases::Case small = make_case("roipoint_pool3d", MLUOP_DTYPE_HALF, {{"b", 1}, {"m", 40}, {"c", 97}, {"s", 200}});
  auto boxes = floats_of(small, "boxes3d");
  std::fill_n(boxes.begin(), 7, 0);
  set_values(small, "boxes3d", boxes);
  LargeCall({.small = small,
             .axes = {random_axis("box", 40, 107'400)},
             .large = {"pooled_features"},
             .repeated = {"pooled_empty_flag"}})
      .expect_result();
}

// The other points are the origin, in pages without memory.
TEST(LargeThreeNNForward, Unknown) {
  MLUOP_REQUIRE_MEMORY(14);
  cases::Case small = make_case("three_nn_forward", MLUOP_DTYPE_HALF, {{"b", 1}, {"n", 1000}, {"m", 5}});
  auto unknown = floats_of(small, "unknown");
  std::fill_n(unknown.begin(), 3, 0);
  set_values(small, "unknown", unknown);
  LargeCall({.small = small,
             .axes = {random_axis("point", 1000, 715'900'001)},
             .large = {"unknown", "dist2", "idx"},
             .repeated = {"unknown", "dist2", "idx"}})
      .expect_result();
}

// More than 2^31 indices, all 0 but the last.
void expect_bad_index(const char* op) {
  LargeCall call({.small = make_case(op, MLUOP_DTYPE_HALF, {{"b", 1}, {"c", 1}, {"m", 3}, {"n", 1}}),
                  .axes = {consecutive_axis("point", 1, 715'827'900)},
                  .large = {"indices", "weights"}});
  call.data<int32_t>("indices")[call["indices"].count() - 1] = 3;
  for (const auto algorithm : kAlgorithms) {
    call.expect_error(algorithm, MLUOP_STATUS_BAD_PARAM, "indices[0, 715827899, 2] is 3, expected 0 to 2");
  }
}

TEST(LargeThreeInterpolateForward, BadIndexAtTheEnd) { expect_bad_index("three_interpolate_forward"); }
TEST(LargeThreeInterpolateBackward, BadIndexAtTheEnd) { expect_bad_index("three_interpolate_backward"); }

cases::Case forward_interpolation(int64_t C, int64_t M, int64_t N) {
  return make_case("three_interpolate_forward", MLUOP_DTYPE_HALF, {{"b", 2}, {"c", C}, {"m", M}, {"n", N}});
}

TEST(LargeThreeInterpolateForward, Features) {
  LargeCall({.small = forward_interpolation(1024, 140, 50),
             .axes = {random_axis("feature", 140, 1'048'700)},
             .indices = {{"indices", {"feature"}}},
             .large = {"features"}})
      .expect_result();
}

TEST(LargeThreeInterpolateForward, Output) {
  MLUOP_REQUIRE_MEMORY(5);
  LargeCall({.small = forward_interpolation(315, 64, 262'000),
             .axes = {random_axis("channel", 315, 4100)},
             .large = {"output"}})
      .expect_result();
}

// Gradients and weights are integers, so that sums are exact in any order.
cases::Case backward_interpolation(int64_t B, int64_t C, int64_t N, int64_t M) {
  return with_values(
      make_case("three_interpolate_backward", MLUOP_DTYPE_HALF, {{"b", B}, {"c", C}, {"n", N}, {"m", M}}),
      Values::kIntegers, 1);
}

TEST(LargeThreeInterpolateBackward, GradOutput) {
  MLUOP_REQUIRE_MEMORY(1);
  LargeCall({.small = backward_interpolation(2, 43, 262'000, 64),
             .axes = {random_axis("channel", 43, 4100)},
             .large = {"grad_output"}})
      .expect_result();
}

TEST(LargeThreeInterpolateBackward, GradFeatures) {
  MLUOP_REQUIRE_MEMORY(5);
  LargeCall({.small = backward_interpolation(2, 1024, 50, 140),
             .axes = {random_axis("feature", 140, 1'048'700)},
             .indices = {{"indices", {"feature"}}},
             .large = {"grad_features"}})
      .expect_result();
}

// Features past 2^31 - 1 have no index: their gradient is 0.
TEST(LargeThreeInterpolateBackward, FeaturesWithoutAnIndex) {
  MLUOP_REQUIRE_MEMORY(5);
  LargeAxis features = random_axis("feature", 140, kLimit);
  features.extent += 12345;
  LargeCall({.small = backward_interpolation(1, 1, 50, 140),
             .axes = {features},
             .indices = {{"indices", {"feature"}}},
             .large = {"grad_features"}})
      .expect_result();
}

cases::Case forward_gather(int64_t C, int64_t N, int64_t M) {
  return make_case("gather_points_forward", MLUOP_DTYPE_HALF, {{"b", 2}, {"c", C}, {"n", N}, {"m", M}});
}

TEST(LargeGatherPointsForward, Features) {
  LargeCall({.small = forward_gather(1024, 140, 50),
             .axes = {random_axis("feature", 140, 1'048'700)},
             .indices = {{"indices", {"feature"}}},
             .large = {"features"}})
      .expect_result();
}

TEST(LargeGatherPointsForward, Output) {
  MLUOP_REQUIRE_MEMORY(5);
  LargeCall({.small = forward_gather(315, 64, 262'000),
             .axes = {random_axis("channel", 315, 4100)},
             .large = {"output"}})
      .expect_result();
}

cases::Case backward_gather(int64_t B, int64_t C, int64_t N, int64_t M) {
  return with_values(
      make_case("gather_points_backward", MLUOP_DTYPE_HALF, {{"b", B}, {"c", C}, {"n", N}, {"m", M}}),
      Values::kIntegers, 1);
}

TEST(LargeGatherPointsBackward, GradOutput) {
  MLUOP_REQUIRE_MEMORY(1);
  LargeCall({.small = backward_gather(2, 43, 64, 262'000),
             .axes = {random_axis("channel", 43, 4100)},
             .large = {"grad_output"}})
      .expect_result();
}

// Features past 2^31 - 1 have no index: their gradient is 0.
TEST(LargeGatherPointsBackward, FeaturesWithoutAnIndex) {
  MLUOP_REQUIRE_MEMORY(5);
  LargeAxis features = random_axis("feature", 140, kLimit);
  features.extent += 12345;
  LargeCall({.small = backward_gather(1, 1, 140, 50),
             .axes = {features},
             .indices = {{"indices", {"feature"}}},
             .large = {"grad_features"}})
      .expect_result();
}

// Elements of depth past 2^31 - 1 have no point: their gradient is 0.
void expect_bev_pool(const char* op, mluOpDataType_t dtype, const Enlargement::Names& large) {
  LargeAxis elements = random_axis("element", 140, kLimit);
  elements.extent += 12345;
  LargeCall({.small = make_case(op, dtype, {{"p", 500}, {"d", 140}}),
             .axes = {elements},
             .indices = {{"ranks_depth", {"element"}}},
             .large = large})
      .expect_result();
}

TEST(LargeBevPoolForward, Depth) { expect_bev_pool("bev_pool_forward", MLUOP_DTYPE_HALF, {"depth"}); }

TEST(LargeBevPoolBackward, DepthAndItsGradient) {
  MLUOP_REQUIRE_MEMORY(9);
  expect_bev_pool("bev_pool_backward", MLUOP_DTYPE_FLOAT, {"depth", "grad_depth"});
}

// Each point is the only point of its voxel, in another order.
TEST(LargeDynamicPointToVoxelForward, FeatsAndVoxelFeats) {
  MLUOP_REQUIRE_MEMORY(10);
  constexpr int32_t kPoints = 1000;
  cases::Case small = make_case("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT, {{"n", kPoints}, {"c", 64}});
  std::vector<int32_t> coors;
  // 7919 is a prime: the points differ.
  for (int32_t n = 0; n < kPoints; ++n) coors.insert(coors.end(), {n % 3, n * 7919 % kPoints, 5});
  set_values(small, "coors", coors);
  for (const auto reduce_type : {MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DMEAN}) {
    SCOPED_TRACE(reduce_type);
    LargeCall call({.small = small,
                    .axes = {random_axis("channel", 64, 2'300'000)},
                    .large = {"feats", "voxel_feats"},
                    .parameters = {{"reduce_type", reduce_type}}});
    call.expect_result();
    EXPECT_EQ(*call.data<int32_t>("voxel_num"), kPoints);
  }
}

// Few points have voxels.
TEST(LargeDynamicScatterBackward, Feats) {
  MLUOP_REQUIRE_MEMORY(9);
  LargeCall({.small = make_case("dynamic_point_to_voxel_backward", MLUOP_DTYPE_FLOAT,
                                {{"n", 3000}, {"c", 64}, {"grid", 10}}),
             .axes = {random_axis("point", 3000, (int64_t{1} << 25) + 101)},
             .large = {"feats", "grad_feats"},
             .negative = {"point2voxel_map"}})
      .expect_result();
}

// Each of the 1000 cells has points.
TEST(LargeVoxelization, Voxels) {
  MLUOP_REQUIRE_MEMORY(10);
  constexpr int64_t kMaxPoints = 10, kChannels = 220'000;
  LargeAxis channels = random_axis("channel", 10, kChannels);
  // The coordinates come first.
  std::iota(channels.places.begin(), channels.places.begin() + 3, 0);
  LargeCall call({.small = make_case(
                      "voxelization", MLUOP_DTYPE_FLOAT,
                      {{"n", 9'700}, {"f", 10}, {"max_points", kMaxPoints}, {"max_voxels", 1000}, {"cells", 10}}),
                  .axes = {channels},
                  .large = {"voxels"}});
  call.expect_result();
  EXPECT_GT(*call.data<int32_t>("voxel_num") * kMaxPoints * kChannels, kLimit) << "no point is stored that far";
}

// The device algorithm refuses these sizes.
void expect_forward_pooling(const Enlargement& enlargement) {
  const std::string large(enlargement.large.front());
  LargeCall call(enlargement);
  call.expect_error(MLUOP_OMP_ALGORITHM_DEVICE, MLUOP_STATUS_NOT_SUPPORTED,
                    large + " has " + std::to_string(call[large].count()) +
                        " elements, expected fewer than 2^31 with the device algorithm");
  call.expect_result(MLUOP_OMP_ALGORITHM_NATIVE);
}

// Features are small integers, whose sums are exact.
cases::Case forward_pooling(int64_t B, int64_t N, int64_t C, int64_t X, int64_t Y) {
  return with_values(
      make_case(
          "voxel_pooling_forward", MLUOP_DTYPE_HALF,
          {{"batch_size", B}, {"num_points", N}, {"num_channels", C}, {"num_voxel_x", X}, {"num_voxel_y", Y}}),
      Values::kIntegers, 1);
}

TEST(LargeVoxelPoolingForward, Points) {
  constexpr int64_t kPoints = 262'200;
  expect_forward_pooling({.small = forward_pooling(2, 2700, 4096, 5, 4),
                          .axes = {random_axis("point", 2700, kPoints)},
                          .large = {"input_features"},
                          .negative = {"geom_xyz", "pos_memo"},
                          .parameters = {{"num_points", kPoints}}});
}

TEST(LargeVoxelPoolingForward, Cells) {
  MLUOP_REQUIRE_MEMORY(5);
  constexpr int64_t kX = 3051, kY = 3050;
  expect_forward_pooling({.small = forward_pooling(3, 2000, 77, 50, 40),
                          .axes = {random_axis("x", 50, kX), random_axis("y", 40, kY)},
                          .indices = {{"geom_xyz", {"x", "y", ""}}, {"pos_memo", {"", "y", "x"}}},
                          .large = {"output_features"},
                          .parameters = {{"num_voxel_x", kX}, {"num_voxel_y", kY}}});
}

cases::Case backward_pooling(int64_t B, int64_t N, int64_t X, int64_t Y) {
  return make_case(
      "voxel_pooling_backward", MLUOP_DTYPE_HALF,
      {{"batch_size", B}, {"num_points", N}, {"num_channels", 77}, {"num_voxel_x", X}, {"num_voxel_y", Y}});
}

TEST(LargeVoxelPoolingBackward, Points) {
  MLUOP_REQUIRE_MEMORY(6);
  LargeCall({.small = backward_pooling(2, 5000, 50, 60),
             .axes = {random_axis("point", 5000, 14'000'000)},
             .large = {"grad_input_features"},
             .repeated = {"pos_memo", "grad_input_features"}})
      .expect_result();
}

TEST(LargeVoxelPoolingBackward, Cells) {
  MLUOP_REQUIRE_MEMORY(2);
  LargeCall({.small = backward_pooling(3, 2000, 50, 40),
             .axes = {random_axis("x", 50, 3300), random_axis("y", 40, 3301)},
             .indices = {{"pos_memo", {"", "y", "x"}}},
             .large = {"grad_output_features"}})
      .expect_result();
}

}  // namespace
}  // namespace mluop::test
