// The plan of mluOpThreeInterpolateBackward: grouping and tiles.
#include <gtest/gtest.h>

#include "ops/three_interpolate_backward/plan.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using three_interpolate_backward::Args;
using three_interpolate_backward::make_plan;
using three_interpolate_backward::Plan;
using three_interpolate_backward::Tiling;

Plan plan_of(int64_t B, int64_t C, int64_t N, int64_t M, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT,
             size_t nram_kib = 640) {
  const Args args{B, C, N, M, dtype, nullptr, nullptr, nullptr, nullptr};
  Context context;
  context.nram_capacity = nram_kib * 1024;
  return make_plan(context, args);
}

TEST(OpsThreeInterpolateBackwardPlan, GroupsManyChannelsOfFewFeatures) {
  const ScopedThreads threads(2);
  EXPECT_TRUE(plan_of(16, 512, 64, 16).grouped);
  EXPECT_TRUE(plan_of(16, 512, 64, 16, MLUOP_DTYPE_HALF).grouped);
  EXPECT_TRUE(plan_of(16, 48, 256, 96).grouped);
  EXPECT_FALSE(plan_of(16, 47, 256, 96).grouped);     // too few channels
  EXPECT_FALSE(plan_of(16, 512, 256, 97).grouped);    // too many features
  EXPECT_FALSE(plan_of(16, 512, 10, 16).grouped);     // fewer than two pairs per feature
  EXPECT_FALSE(plan_of(16, 1024, 4096, 64).grouped);  // larger than the caches
}

TEST(OpsThreeInterpolateBackwardPlan, StreamsLargeOutputs) {
  const auto tiling_of = [](int64_t C) { return plan_of(16, C, 1024, 256).tiling; };
  EXPECT_FALSE(tiling_of(64).stream);  // 6 MB
  EXPECT_TRUE(tiling_of(256).stream);  // 21 MB
  EXPECT_FALSE(tiling_of(256).fetch_ahead);
  EXPECT_TRUE(tiling_of(512).stream);
  EXPECT_TRUE(tiling_of(512).fetch_ahead);  // 42 MB
}

TEST(OpsThreeInterpolateBackwardPlan, GroupedTilesFitNram) {
  const ScopedThreads threads(2);
  for (const size_t kib : {32, 40, 64, 640}) {
    SCOPED_TRACE(kib);
    const Plan plan = plan_of(4, 512, 500, 30, MLUOP_DTYPE_FLOAT, kib);
    ASSERT_TRUE(plan.grouped);
    EXPECT_EQ(plan.tiling.channels % Tiling::kStrip, 0);
    EXPECT_EQ(plan.tiling.features % Tiling::kStrip, 0);
    EXPECT_EQ(plan.tiling.points % Tiling::kStrip, 0);
    EXPECT_GT(plan.tiling.points, 0);
    const int64_t rows = plan.tiling.points + plan.tiling.features;
    EXPECT_LE(static_cast<size_t>(rows * plan.tiling.channels) * sizeof(float), kib * 1024);
  }
  // No tile of 64 channels fits. The algorithm without groups needs less NRAM.
  EXPECT_FALSE(plan_of(4, 512, 500, 30, MLUOP_DTYPE_FLOAT, 16).grouped);
}

}  // namespace
}  // namespace mluop::test
