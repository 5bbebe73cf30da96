// The plan of mluOpThreeInterpolateBackward: grouping, tiles, and the placement of outputs and points in memory.
#include <gtest/gtest.h>

#include "core/caches.h"
#include "ops/three_interpolate_backward/three_interpolate_backward.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using three_interpolate_backward::Args;
using three_interpolate_backward::native::make_plan;
using three_interpolate_backward::native::Plan;
using three_interpolate_backward::native::Tiling;

Plan plan_of(int64_t B, int64_t C, int64_t N, int64_t M, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT,
             size_t nram_kib = 640) {
  const Args args{B, C, N, M, dtype, nullptr, nullptr, nullptr, nullptr};
  Context context;
  context.nram_capacity = nram_kib * 1024;
  return make_plan(context, args);
}

TEST(OpsThreeInterpolateBackwardPlan, GroupsManyChannelsOfFewFeatures) {
  const ScopedThreads threads(2);
  EXPECT_TRUE(plan_of(8, 512, 64, 16).grouped);
  EXPECT_TRUE(plan_of(8, 512, 64, 16, MLUOP_DTYPE_HALF).grouped);
  EXPECT_TRUE(plan_of(8, 48, 256, 96).grouped);
  EXPECT_FALSE(plan_of(8, 47, 256, 96).grouped);      // too few channels
  EXPECT_FALSE(plan_of(8, 512, 256, 97).grouped);     // too many features
  EXPECT_FALSE(plan_of(8, 512, 10, 16).grouped);      // fewer than two pairs per feature
  EXPECT_FALSE(plan_of(16, 1024, 4096, 64).grouped);  // larger than the caches
}

// The largest number of channels with which a call of 16 x 1024 points and 16 x 256 features moves less than
// `bytes`.
int64_t channels_below(int64_t bytes) {
  constexpr int64_t kIndexBytes = 16 * 1024 * 3 * 8;
  constexpr int64_t kChannelBytes = 16 * (1024 + 256) * 4;
  return (bytes - kIndexBytes - 1) / kChannelBytes;
}

TEST(OpsThreeInterpolateBackwardPlan, StreamsLargeOutputs) {
  const int64_t channels = channels_below(cache_sizes().llc / 4);
  EXPECT_FALSE(plan_of(16, channels, 1024, 256).stream);
  EXPECT_TRUE(plan_of(16, channels + 1, 1024, 256).stream);
}

TEST(OpsThreeInterpolateBackwardPlan, PrefetchesPointsFromMemory) {
  const int64_t channels = channels_below(cache_sizes().llc);
  EXPECT_FALSE(plan_of(16, channels, 1024, 256).prefetch);
  EXPECT_TRUE(plan_of(16, channels + 1, 1024, 256).prefetch);
}

TEST(OpsThreeInterpolateBackwardPlan, GroupedTilesFitNram) {
  const ScopedThreads threads(2);
  for (const size_t kib : {32, 40, 64, 640}) {
    SCOPED_TRACE(kib);
    const Plan plan = plan_of(2, 512, 500, 30, MLUOP_DTYPE_FLOAT, kib);
    ASSERT_TRUE(plan.grouped);
    EXPECT_EQ(plan.tiling.channels % Tiling::kStrip, 0);
    EXPECT_EQ(plan.tiling.features % Tiling::kStrip, 0);
    EXPECT_EQ(plan.tiling.points % Tiling::kStrip, 0);
    EXPECT_GT(plan.tiling.points, 0);
    const int64_t rows = plan.tiling.points + plan.tiling.features;
    EXPECT_LE(static_cast<size_t>(rows * plan.tiling.channels) * sizeof(float), kib * 1024);
  }
  // No tile of 64 channels fits. direct_kernel() needs less NRAM.
  EXPECT_FALSE(plan_of(2, 512, 500, 30, MLUOP_DTYPE_FLOAT, 16).grouped);
}

// The search for the largest tile does not overflow.
TEST(OpsThreeInterpolateBackwardPlan, TilesOfHugeTensorsFitNram) {
  const ScopedThreads threads(2);
  const Plan plan = plan_of(1, 1, 1, int64_t{1} << 61, MLUOP_DTYPE_HALF);
  EXPECT_FALSE(plan.grouped);
  EXPECT_GT(plan.tiling.features, 0);
  EXPECT_LE(plan.tiling.features * Tiling::kStrip * int64_t{sizeof(float)}, 640 * 1024);
}

TEST(OpsThreeInterpolateBackwardPlan, BytesOfAllTensorsExceedInt64) {
  // grad_output and grad_features of 2^62 bytes each.
  EXPECT_THROW(plan_of(1, int64_t{1} << 40, int64_t{1} << 20, int64_t{1} << 20), Failure);
}

}  // namespace
}  // namespace mluop::test
