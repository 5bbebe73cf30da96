// mluOpDynamicPointToVoxelForward against its definition: exact, sums and means too.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "support/environment.h"
#include "support/lidar_map.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

void expect_reference(const PointToVoxelInputs& inputs, Placement placement = Placement::kAligned,
                      mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE) {
  SCOPED_TRACE(::testing::Message() << inputs.points << " points, " << inputs.channels << " channels, M "
                                    << inputs.max_voxels << ", reduce_type " << inputs.reduce_type);
  const Handle handle(algorithm);
  const PointToVoxelCall call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(call.has(point_to_voxel_reference(inputs)));
  EXPECT_TRUE(call.intact());
}

struct Sizes {
  int64_t points, channels;
  int32_t extent;
};

constexpr Sizes kHostileSizes[] = {
    {1, 1, 1},           // one of everything
    {1, 17, 9},          // a vector and one lane
    {2, 3, 1},           // fewer channels than a vector
    {15, 15, 2},         // a vector minus one, of points and of channels
    {16, 16, 2},         // a vector
    {17, 31, 100},       // a vector of points plus one
    {500, 63, 4},        // four vectors minus one lane
    {500, 64, 4},        // four vectors
    {500, 65, 4},        // and one lane
    {40, 300, 2},        // rows longer than what is prefetched
    {3000, 4, 1},        // one voxel for all points
    {5000, 20, 1},       // which tasks share
    {3000, 5, 40},       // about two points per voxel
    {3000, 5, 1 << 30},  // distinct coordinates, two words of key or more
    {2500, 7, 1500},     // 32 bits of key
    {2500, 7, 2000},     // more
    {9001, 1, 1 << 20},  // parts of several sizes
};

TEST(OpsDynamicPointToVoxelForward, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const Sizes& sizes : kHostileSizes) {
    for (const auto reduce_type : kReduceTypes) {
      expect_reference(random_point_to_voxel(sizes.points, sizes.channels, sizes.extent, reduce_type, random));
    }
  }
}

TEST(OpsDynamicPointToVoxelForward, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int channels : {1, 16, 19, 64}) {
    for (const auto reduce_type : kReduceTypes) {
      const auto inputs = random_point_to_voxel(1777, channels, 7, reduce_type, random);
      for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
        expect_reference(inputs, placement);
      }
    }
  }
}

// An output large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsDynamicPointToVoxelForward, StreamedOutput) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int channels : {128, 120}) {
    const auto inputs = random_point_to_voxel(40000, channels, 70, MLUOP_REDUCE_DMEAN, random);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned}) expect_reference(inputs, placement);
  }
}

TEST(OpsDynamicPointToVoxelForward, ThreadCounts) {
  auto random = seeded_random();
  for (const int32_t extent : {1, 2, 25, 1 << 20}) {
    for (const auto reduce_type : kReduceTypes) {
      const auto inputs = random_point_to_voxel(20000, 36, extent, reduce_type, random);
      for (const int count : {1, 2, 3, 7, 64}) {
        SCOPED_TRACE(count);
        const ScopedThreads threads(count);
        expect_reference(inputs);
      }
    }
  }
}

TEST(OpsDynamicPointToVoxelForward, DeviceAlgorithmRunsNative) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const auto reduce_type : kReduceTypes) {
    expect_reference(random_point_to_voxel(3000, 20, 12, reduce_type, random), Placement::kAligned,
                     MLUOP_OMP_ALGORITHM_DEVICE);
  }
}

TEST(OpsDynamicPointToVoxelForward, NramSizes) {
  auto random = seeded_random();
  const auto inputs = random_point_to_voxel(3000, 20, 12, MLUOP_REDUCE_DSUM, random);
  for (const char* kib : {"1", "8", "1024"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference(inputs);
  }
}

// The limits of int32 along every axis, in each combination.
TEST(OpsDynamicPointToVoxelForward, LimitsOfCoordinates) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  constexpr int32_t kValues[] = {0, 1, 7, INT32_MAX - 1, INT32_MAX, -1, INT32_MIN};
  auto inputs = random_point_to_voxel(1000, 3, 1, MLUOP_REDUCE_DSUM, random);
  for (int32_t& coordinate : inputs.coors) coordinate = kValues[random() % 7];
  expect_reference(inputs);
  // Extents whose product is 2^32 - 1, the most that one word of a key takes, and next to it.
  for (const int32_t extent : {65536, 65537, 65538}) {
    auto edge = random_point_to_voxel(1000, 3, 4, MLUOP_REDUCE_DSUM, random);
    for (size_t n = 0; n < 1000; ++n) {
      edge.coors[3 * n] = 5;
      edge.coors[3 * n + 1] = 10 + (random() % 2 == 0 ? 65534 : 0);
      edge.coors[3 * n + 2] = 20 + (random() % 2 == 0 ? extent - 1 : 0);
    }
    expect_reference(edge);
  }
}

TEST(OpsDynamicPointToVoxelForward, NoPointHasAVoxel) {
  auto random = seeded_random();
  for (const int64_t points : {1, 70, 9000}) {
    auto inputs = random_point_to_voxel(points, 9, 5, MLUOP_REDUCE_DMAX, random);
    for (size_t i = 0; i < inputs.coors.size(); i += 3) inputs.coors[i] = -5;
    expect_reference(inputs);
    inputs.max_voxels = 0;
    expect_reference(inputs);
  }
}

// As many rows as voxels suffice.
TEST(OpsDynamicPointToVoxelForward, RowsForTheVoxelsOnly) {
  auto random = seeded_random();
  auto inputs = random_point_to_voxel(900, 12, 6, MLUOP_REDUCE_DMEAN, random);
  inputs.max_voxels = point_to_voxel_reference(inputs).voxel_num;
  expect_reference(inputs);
}

// NaN loses against every value and zero against none; of zeros of either sign the first remains.
TEST(OpsDynamicPointToVoxelForward, MaximaOfSpecialValues) {
  auto random = seeded_random();
  constexpr float kValues[] = {kNan, -kNan, kInfinity, -kInfinity, 0.0F, -0.0F, -1.0F, 1e-42F};
  for (const int count : {1, 3}) {
    const ScopedThreads threads(count);
    for (const auto reduce_type : kReduceTypes) {
      auto inputs = random_point_to_voxel(4000, 21, 11, reduce_type, random);
      for (float& value : inputs.feats) value = kValues[random() % 8];
      expect_reference(inputs);
    }
    auto all_nan = random_point_to_voxel(50, 5, 2, MLUOP_REDUCE_DMAX, random);
    std::fill(all_nan.feats.begin(), all_nan.feats.end(), kNan);
    const auto expected = point_to_voxel_reference(all_nan);
    EXPECT_TRUE(std::ranges::all_of(expected.voxel_feats, [](float value) { return value == -kInfinity; }));
    expect_reference(all_nan);
  }
}

// A sum starts at +0.
TEST(OpsDynamicPointToVoxelForward, SumOfNegativeZeros) {
  auto random = seeded_random();
  auto inputs = random_point_to_voxel(100, 18, 3, MLUOP_REDUCE_DSUM, random);
  std::fill(inputs.feats.begin(), inputs.feats.end(), -0.0F);
  expect_reference(inputs);
}

// There are no voxels: every row is past the last one. The data of empty tensors and the workspace may be null.
TEST(OpsDynamicPointToVoxelForward, NoPoints) {
  auto random = seeded_random();
  const Handle handle;
  for (const int64_t channels : {0, 8}) {
    EXPECT_EQ(point_to_voxel_workspace(handle, 0, channels), 0U);
    for (const int64_t max_voxels : {0, 9}) {
      auto inputs = random_point_to_voxel(0, channels, 1, MLUOP_REDUCE_DMAX, random);
      inputs.max_voxels = max_voxels;
      expect_reference(inputs);
      PointToVoxelCall call(handle, inputs);
      call.feats = nullptr;
      call.coors = call.point2voxel_map = call.workspace = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(call.has(point_to_voxel_reference(inputs)));
    }
  }
}

// voxel_feats has no elements; the other outputs are those of any number of channels.
TEST(OpsDynamicPointToVoxelForward, NoChannels) {
  auto random = seeded_random();
  for (const int count : {1, 3}) {
    const ScopedThreads threads(count);
    for (const auto reduce_type : kReduceTypes) {
      for (const auto& [points, extent] : {std::pair{1, 1}, {5, 2}, {700, 4}, {9000, 1}, {9000, 1 << 30}}) {
        expect_reference(random_point_to_voxel(points, 0, extent, reduce_type, random));
      }
    }
  }
}

TEST(OpsDynamicPointToVoxelForward, WorkspaceSufficesForAnyNumberOfThreads) {
  auto random = seeded_random();
  const Handle handle;
  for (const int32_t extent : {3, 1 << 25}) {
    const auto inputs = random_point_to_voxel(150000, 1, extent, MLUOP_REDUCE_DMAX, random);
    const auto expected = point_to_voxel_reference(inputs);
    for (const int count : {1, 64, 100}) {
      const ScopedThreads threads(count);
      const PointToVoxelCall call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(call.has(expected));
      EXPECT_EQ(call.workspace_size, point_to_voxel_workspace(handle, 150000, 1));
    }
  }
}

PointToVoxelInputs lidar_inputs(int points, int voxels, int rings, int channels, mluOpReduceMode_t reduce_type) {
  PointToVoxelInputs inputs{points, channels, points, reduce_type, {}, lidar_coors(points, voxels, rings)};
  auto random = seeded_random();
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  for (int64_t i = 0; i < int64_t{points} * channels; ++i) inputs.feats.push_back(value(random));
  return inputs;
}

TEST(OpsDynamicPointToVoxelForward, NetworkSizes) {
  const ScopedThreads threads(2);
  expect_reference(lidar_inputs(17563, 13757, 64, 4, MLUOP_REDUCE_DMEAN));
  expect_reference(lidar_inputs(17563, 13757, 64, 64, MLUOP_REDUCE_DMAX));
}

TEST(BigDynamicPointToVoxelForward, LargeScan) {
  const auto inputs = lidar_inputs(500000, 100000, 128, 64, MLUOP_REDUCE_DMEAN);
  for (const int count : {1, 2, 16}) {
    const ScopedThreads threads(count);
    expect_reference(inputs, Placement::kAligned);
    expect_reference(inputs, Placement::kAgainstEnd);
  }
}

}  // namespace
}  // namespace mluop::test
