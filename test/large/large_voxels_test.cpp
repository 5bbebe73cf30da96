// Operators on voxels with tensors of more than 2^31 elements: every element against the oracle or the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "large/enlarged_call.h"
#include "support/values.h"

namespace mluop::test {
namespace {

// Every point has a voxel of its own, in another order.
TEST(LargeDynamicPointToVoxelForward, FeatsAndVoxelFeats) {
  MLUOP_REQUIRE_MEMORY(11);
  constexpr int64_t kPoints = (int64_t{1} << 25) + 101, kChannels = 64;
  LargeCall call(
      make_large("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT, {{"n", kPoints}, {"c", kChannels}}),
      {"feats", "voxel_feats"}, {"coors"});
  float *feats = call.data<float>("feats"), *voxel_feats = call.data<float>("voxel_feats");
  // The factor is a prime that does not divide kPoints, so points differ.
  static_assert(kPoints % 7919 != 0);
  const auto point_of = [](int64_t voxel) { return voxel * 7919 % kPoints; };
  // The coordinates of a voxel, in ascending order of voxels.
  const auto write_coors = [](int64_t voxel, int32_t* coors) {
    coors[0] = static_cast<int32_t>(voxel / 1'000'000);
    coors[1] = static_cast<int32_t>(voxel / 1000 % 1000);
    coors[2] = static_cast<int32_t>(voxel % 1000);
  };
  for (int64_t voxel = 0; voxel < kPoints; ++voxel) {
    const int64_t point = point_of(voxel);
    write_coors(voxel, call.data<int32_t>("coors") + point * 3);
    // The features of most points are 0, so that their pages take no memory.
    if (voxel % 10'007 != 0) continue;
    std::iota(feats + point * kChannels, feats + (point + 1) * kChannels,
              static_cast<float>(voxel % 1009 * kChannels));
  }
  const int32_t *voxel_coors = call.data<int32_t>("voxel_coors"), *map = call.data<int32_t>("point2voxel_map");
  const int32_t* counts = call.data<int32_t>("voxel_points_count");
  for (const auto reduce_type : {MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DMEAN}) {
    SCOPED_TRACE(reduce_type);
    call.parameters.set("reduce_type", reduce_type);
    call.expect_each(kPoints, [&](int64_t voxel) {
      const int64_t point = point_of(voxel);
      int32_t expected[3];
      write_coors(voxel, expected);
      return std::memcmp(voxel_coors + voxel * 3, expected, sizeof expected) == 0 && map[point] == voxel &&
             counts[voxel] == 1 &&
             std::memcmp(voxel_feats + voxel * kChannels, feats + point * kChannels, kChannels * sizeof(float)) ==
                 0;
    });
    EXPECT_EQ(*call.data<int32_t>("voxel_num"), kPoints);
  }
}

// Few points have voxels.
TEST(LargeDynamicScatterBackward, Feats) {
  MLUOP_REQUIRE_MEMORY(9);
  auto random = seeded_random();
  EnlargedCall(
      make_case("dynamic_point_to_voxel_backward", MLUOP_DTYPE_FLOAT, {{"n", 3000}, {"c", 64}, {"grid", 10}}),
      {random_axis("point", 3000, (int64_t{1} << 25) + 101, random)}, {}, {"feats", "grad_feats"},
      {"point2voxel_map"})
      .expect_result();
}

TEST(LargeVoxelization, Voxels) {
  MLUOP_REQUIRE_MEMORY(10);
  auto random = seeded_random();
  // 100 x 100 x 100 cells, of 5 points in the mean and fewer than 40.
  constexpr int64_t kPoints = 5'000'000, kCells = 1'000'000, kStored = 40, kMaxPoints = 740;
  cases::Case made = make_case("voxelization", MLUOP_DTYPE_FLOAT,
                               {{"n", kPoints}, {"f", 3}, {"max_points", kStored}, {"max_voxels", kCells}});
  std::vector<float> points(kPoints * 3);
  for (float& coordinate : points) coordinate = static_cast<float>(random() % 1'000'000) * 1e-4F;
  set_values(made, "points", points);
  set_values(made, "voxel_size", std::vector<float>{1, 1, 1});
  set_values(made, "coors_range", std::vector<float>{0, 0, 0, 100, 100, 100});
  const Handle handle;
  OperatorCall expected(handle, made);
  expected.expect();
  const int64_t voxel_num = expected.int32s("voxel_num")[0];
  ASSERT_GT(3 * kMaxPoints * voxel_num, kLimit) << "no point is stored that far";
  const auto counts = expected.int32s("num_points_per_voxel");
  ASSERT_LT(*std::max_element(counts.begin(), counts.end()), kStored);

  made.parameters.set("max_points", kMaxPoints);
  made.outputs[0].dims[1] = kMaxPoints;
  LargeCall call(made, {"voxels"});
  constexpr size_t kStoredBytes = kStored * 3 * sizeof(float), kVoxelBytes = kMaxPoints * 3 * sizeof(float);
  call.expect_each(kCells, [&](int64_t voxel) {
    const std::byte* row = call["voxels"].data + voxel * static_cast<int64_t>(kVoxelBytes);
    const std::byte* stored = expected["voxels"].data + voxel * static_cast<int64_t>(kStoredBytes);
    return std::memcmp(row, stored, kStoredBytes) == 0 && all_zero(row + kStoredBytes, kVoxelBytes - kStoredBytes);
  });
  for (const char* id : {"coors", "num_points_per_voxel", "voxel_num"}) {
    const auto bytes = static_cast<size_t>(call[id].bytes());
    EXPECT_EQ(std::memcmp(call[id].data, expected[id].data, bytes), 0) << id;
  }
}

// Features are small integers, whose sums are exact.
cases::Case forward_pooling(int64_t B, int64_t N, int64_t C, int64_t X, int64_t Y) {
  return with_values(
      make_case(
          "voxel_pooling_forward", MLUOP_DTYPE_HALF,
          {{"batch_size", B}, {"num_points", N}, {"num_channels", C}, {"num_voxel_x", X}, {"num_voxel_y", Y}}),
      Values::kIntegers, 1);
}

// The device algorithm refuses these sizes.
void expect_forward_pooling(EnlargedCall& call, const std::string& large) {
  call.expect_error(MLUOP_OMP_ALGORITHM_DEVICE, MLUOP_STATUS_NOT_SUPPORTED,
                    large + " has " + std::to_string(call[large].count()) +
                        " elements, expected fewer than 2^31 with the device algorithm");
  call.expect_result(MLUOP_OMP_ALGORITHM_NATIVE);
}

TEST(LargeVoxelPoolingForward, Points) {
  auto random = seeded_random();
  constexpr int64_t kPoints = 262'200;
  EnlargedCall call(forward_pooling(2, 2700, 4096, 5, 4), {random_axis("point", 2700, kPoints, random)}, {},
                    {"input_features"}, {"geom_xyz", "pos_memo"});
  call.parameters.set("num_points", kPoints);
  expect_forward_pooling(call, "input_features");
}

TEST(LargeVoxelPoolingForward, Cells) {
  MLUOP_REQUIRE_MEMORY(5);
  auto random = seeded_random();
  constexpr int64_t kX = 3051, kY = 3050;
  EnlargedCall call(forward_pooling(3, 2000, 77, 50, 40),
                    {random_axis("x", 50, kX, random), random_axis("y", 40, kY, random)},
                    {{"geom_xyz", {"x", "y", ""}}, {"pos_memo", {"", "y", "x"}}}, {"output_features"});
  call.parameters.set("num_voxel_x", kX);
  call.parameters.set("num_voxel_y", kY);
  expect_forward_pooling(call, "output_features");
}

cases::Case backward_pooling(int64_t B, int64_t N, int64_t X, int64_t Y) {
  return make_case(
      "voxel_pooling_backward", MLUOP_DTYPE_HALF,
      {{"batch_size", B}, {"num_points", N}, {"num_channels", 77}, {"num_voxel_x", X}, {"num_voxel_y", Y}});
}

TEST(LargeVoxelPoolingBackward, Points) {
  MLUOP_REQUIRE_MEMORY(6);
  constexpr int64_t kPoints = 14'000'000, kRun = 1000, kRuns = kPoints / kRun;
  LargeCall call(backward_pooling(2, kPoints, 50, 60), {"grad_input_features"});
  call.expect_each(2 * kRuns, [&](int64_t i) {
    const Slice points{{i / kRuns, i % kRuns * kRun}, kRun};
    return call.slices_agree({{}, points, points});
  });
}

TEST(LargeVoxelPoolingBackward, Cells) {
  MLUOP_REQUIRE_MEMORY(2);
  auto random = seeded_random();
  EnlargedCall(backward_pooling(3, 2000, 50, 40),
               {random_axis("x", 50, 3300, random), random_axis("y", 40, 3301, random)},
               {{"pos_memo", {"", "y", "x"}}}, {"grad_output_features"})
      .expect_result();
}

}  // namespace
}  // namespace mluop::test
