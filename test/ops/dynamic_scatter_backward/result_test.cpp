// mluOpDynamicScatterBackward against the serial loops of its definition, bit for bit in both algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "ops/dynamic_scatter_backward/call.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/lidar_map.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

std::string name_of(const DynamicScatterSizes& s) {
  return std::to_string(s.points) + " points, " + std::to_string(s.voxels) + " voxels, " +
         std::to_string(s.channels) + " channels, voxel_num " + std::to_string(s.voxel_num);
}

// Gradients are copied, so the payload of a NaN is compared too.
::testing::AssertionResult identical(const std::vector<float>& evaluated, const std::vector<float>& baseline) {
  if (std::memcmp(evaluated.data(), baseline.data(), baseline.size() * sizeof(float)) == 0) {
    return ::testing::AssertionSuccess();
  }
  for (size_t i = 0; i < baseline.size(); ++i) {
    if (std::memcmp(&evaluated[i], &baseline[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure()
             << "element " << i << " is " << evaluated[i] << ", expected " << baseline[i];
    }
  }
  return ::testing::AssertionSuccess();
}

void expect_identical(const DynamicScatterInputs& inputs, const std::vector<float>& expected,
                      Placement placement) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    const DynamicScatterCall call(handle, inputs, placement);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(identical(call.output(), expected));
    EXPECT_TRUE(call.intact());
  }
}

void expect_reference(const DynamicScatterInputs& inputs, Placement placement = Placement::kAligned) {
  expect_identical(inputs, dynamic_scatter_reference(inputs), placement);
}

constexpr DynamicScatterSizes kHostileSizes[] = {
    {1, 1, 1, 1},           // one of everything
    {1, 1, 17, 1},          // one point, a vector and one lane
    {15, 3, 15, 3},         // a vector minus one, of points and of channels
    {16, 16, 16, 16},       // a vector; as many voxels as points
    {17, 5, 31, 5},         // a vector of points plus one
    {300, 7, 3, 7},         // many points per voxel, fewer channels than a vector
    {5000, 1, 5, 1},        // one voxel for all points
    {1000, 900, 9, 900},    // voxels without points
    {1000, 900, 20, 17},    // voxel_num below the number of voxels
    {500, 300, 8, 0},       // voxel_num 0
    {64, 20, 127, 20},      // eight vectors minus one lane
    {64, 20, 128, 20},      // eight vectors
    {64, 20, 131, 20},      // eight vectors and a tail of three lanes
    {40, 9, 2050, 9},       // rows longer than a tile
    {9001, 4001, 1, 4000},  // one channel: the deterministic algorithm needs the larger workspace
    {20000, 3, 1, 3},       // fewer voxels than tasks
};

TEST(OpsDynamicScatterBackward, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const DynamicScatterSizes& sizes : kHostileSizes) {
    SCOPED_TRACE(name_of(sizes));
    expect_reference(random_dynamic_scatter(sizes, random));
  }
}

TEST(OpsDynamicScatterBackward, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int channels : {1, 16, 19, 64}) {
    SCOPED_TRACE(channels);
    const auto inputs = random_dynamic_scatter({1777, 400, channels, 399}, random);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd})
      expect_reference(inputs, placement);
  }
}

// An output large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsDynamicScatterBackward, StreamedOutput) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int channels : {64, 71}) {
    SCOPED_TRACE(channels);
    const auto inputs = random_dynamic_scatter({20000, 6000, channels, 6000}, random);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      expect_reference(inputs, placement);
    }
  }
}

TEST(OpsDynamicScatterBackward, ThreadCounts) {
  auto random = seeded_random();
  const auto many_voxels = random_dynamic_scatter({9001, 8000, 24, 8000}, random);
  const auto one_channel = random_dynamic_scatter({200001, 60, 1, 60}, random);
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_reference(many_voxels);
    expect_reference(one_channel);
  }
}

// Several tasks find points of one voxel: the smallest point receives the gradient in every run.
TEST(OpsDynamicScatterBackward, TiesGoToTheFirstPoint) {
  DynamicScatterInputs inputs{{30000, 2, 18, 2}, {}, {}, {}, {}, {}};
  inputs.feats.assign(static_cast<size_t>(inputs.sizes.feats_count()), 1.0F);
  inputs.grad_voxel_feats.assign(static_cast<size_t>(inputs.sizes.voxel_feats_count()), 3.0F);
  for (int n = 0; n < inputs.sizes.points; ++n) inputs.point2voxel_map.push_back(n % 2);
  scatter_forward(inputs);
  for (int run = 0; run < 5; ++run) {
    for (const int count : {1, 2, 5, 16}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_reference(inputs);
    }
  }
}

// The size that the query returns is sufficient for every number of threads.
TEST(OpsDynamicScatterBackward, WorkspaceSufficesForAnyNumberOfThreads) {
  auto random = seeded_random();
  const Handle handle;
  for (const DynamicScatterSizes& sizes :
       {DynamicScatterSizes{100000, 100000, 1, 100000}, {100000, 25, 1, 25}, {64, 3, 5000, 3}}) {
    SCOPED_TRACE(name_of(sizes));
    const auto inputs = random_dynamic_scatter(sizes, random);
    size_t bytes = 0;
    {
      const ScopedThreads threads(1);
      bytes = dynamic_scatter_workspace(handle, sizes.points, sizes.channels);
    }
    const ScopedThreads threads(64);
    EXPECT_EQ(dynamic_scatter_workspace(handle, sizes.points, sizes.channels), bytes);
    expect_reference(inputs, Placement::kAgainstEnd);
  }
}

TEST(OpsDynamicScatterBackward, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto many_points = random_dynamic_scatter({30000, 9000, 5, 9000}, random);
  const auto many_channels = random_dynamic_scatter({50, 20, 3000, 20}, random);
  for (const char* kib : {"1", "16", "17", "64", "384", "640", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference(many_points);
    expect_reference(many_channels);
  }
}

// Consecutive calls of different sizes with one handle.
TEST(OpsDynamicScatterBackward, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    for (const int points : {3000, 10, 30000, 1}) {
      const auto inputs = random_dynamic_scatter({points, (points + 2) / 3, 21, (points + 2) / 3}, random);
      const DynamicScatterCall call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
      EXPECT_TRUE(identical(call.output(), dynamic_scatter_reference(inputs)));
    }
  }
}

// NaN equals no value, -0 equals +0, and infinity equals itself. Gradients are arbitrary.
TEST(OpsDynamicScatterBackward, NanInfinityAndZeros) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter({2000, 300, 18, 300}, random);
  const float specials[] = {kNan, kInfinity, -kInfinity, -0.0F, 0.0F, std::numeric_limits<float>::denorm_min()};
  const auto insert_specials = [&](std::vector<float>& values, size_t step) {
    for (size_t i = 0; i < values.size(); i += step) values[i] = specials[i / step % std::size(specials)];
  };
  insert_specials(inputs.feats, 7);
  scatter_forward(inputs);
  insert_specials(inputs.voxel_feats, 13);
  insert_specials(inputs.grad_voxel_feats, 5);
  expect_reference(inputs);
}

TEST(OpsDynamicScatterBackward, NegativeZeroEqualsZero) {
  DynamicScatterInputs inputs{{2, 1, 20, 1},
                              std::vector<float>(20, 5.0F),
                              std::vector<float>(40, -0.0F),
                              std::vector<float>(20, 0.0F),
                              {0, 0},
                              {2}};
  expect_reference(inputs);
  EXPECT_EQ(dynamic_scatter_reference(inputs).front(), 5.0F);
}

// A gradient of -0 remains -0. The first point receives it; the other points of the same value receive +0.
TEST(OpsDynamicScatterBackward, NegativeZeroGradient) {
  DynamicScatterInputs inputs{{3, 1, 20, 1},
                              std::vector<float>(20, -0.0F),
                              std::vector<float>(60, 1.0F),
                              std::vector<float>(20, 1.0F),
                              {0, 0, 0},
                              {3}};
  expect_reference(inputs);
}

TEST(OpsDynamicScatterBackward, NanMatchesNoPoint) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter({500, 50, 20, 50}, random);
  std::fill(inputs.feats.begin(), inputs.feats.end(), kNan);
  std::fill(inputs.voxel_feats.begin(), inputs.voxel_feats.end(), kNan);
  expect_reference(inputs);
  const auto expected = dynamic_scatter_reference(inputs);
  EXPECT_TRUE(std::all_of(expected.begin(), expected.end(), [](float value) { return value == 0; }));
}

TEST(OpsDynamicScatterBackward, NoPointHasAVoxel) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter({3000, 50, 20, 50}, random);
  std::fill(inputs.point2voxel_map.begin(), inputs.point2voxel_map.end(), -1);
  expect_reference(inputs);
}

// Without voxels the map is ignored, and the gradient is zero.
TEST(OpsDynamicScatterBackward, NoVoxels) {
  auto random = seeded_random();
  for (const DynamicScatterSizes& sizes : {DynamicScatterSizes{3000, 0, 20, 0}, {70, 30, 20, 0}}) {
    auto inputs = random_dynamic_scatter(sizes, random);
    expect_reference(inputs);
    std::iota(inputs.point2voxel_map.begin(), inputs.point2voxel_map.end(), -3);
    const Handle handle;
    DynamicScatterCall call(handle, inputs);
    if (sizes.voxels == 0) call.grad_voxel_feats = call.voxel_feats = call.voxel_points_count = nullptr;
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(identical(call.output(), std::vector<float>(inputs.feats.size(), 0.0F)));
  }
}

// Without elements the call does not access memory.
TEST(OpsDynamicScatterBackward, NoElements) {
  const Handle handle;
  for (const DynamicScatterSizes& sizes :
       {DynamicScatterSizes{0, 0, 8, 0}, {0, 3, 8, 3}, {5, 3, 0, 3}, {0, 0, 0, 0}}) {
    SCOPED_TRACE(name_of(sizes));
    EXPECT_EQ(dynamic_scatter_workspace(handle, sizes.points, sizes.channels), 0U);
    auto random = seeded_random();
    DynamicScatterCall call(handle, random_dynamic_scatter({1, 1, 1, 1}, random));
    const Descriptor voxels(MLUOP_DTYPE_FLOAT, {sizes.voxels, sizes.channels}),
        feats(MLUOP_DTYPE_FLOAT, {sizes.points, sizes.channels}), map(MLUOP_DTYPE_INT32, {sizes.points}),
        count(MLUOP_DTYPE_INT32, {sizes.voxels});
    call.grad_voxel_feats_desc = call.voxel_feats_desc = voxels;
    call.feats_desc = call.grad_feats_desc = feats;
    call.point2voxel_map_desc = map;
    call.voxel_points_count_desc = count;
    call.grad_voxel_feats = call.feats = call.voxel_feats = call.point2voxel_map = call.voxel_points_count =
        nullptr;
    call.voxel_num = call.workspace = call.grad_feats = nullptr;
    call.workspace_size = 0;
    const auto before = call.output();
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(identical(call.output(), before));
  }
}

TEST(OpsDynamicScatterBackward, Aliases) {
  auto random = seeded_random();
  const auto inputs = random_dynamic_scatter({700, 200, 33, 190}, random);
  const auto expected = dynamic_scatter_reference(inputs);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    const DynamicScatterCall call(handle, inputs);
    ASSERT_EQ(call.query_alias(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.queried_buffer[0], call.workspace_size);
    ASSERT_EQ(call.run_alias(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(identical(call.output(), expected));
    EXPECT_TRUE(call.intact());
  }
}

// Points in the order of the sensor, or shuffled, so that consecutive points have different voxels.
DynamicScatterInputs lidar_inputs(const DynamicScatterSizes& sizes, int rings, bool shuffled,
                                  std::mt19937& random) {
  DynamicScatterInputs inputs{sizes, {}, {}, {}, lidar_map(sizes.points, sizes.voxels, rings), {}};
  if (shuffled) std::shuffle(inputs.point2voxel_map.begin(), inputs.point2voxel_map.end(), random);
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  for (int64_t i = 0; i < sizes.feats_count(); ++i) inputs.feats.push_back(value(random));
  for (int64_t i = 0; i < sizes.voxel_feats_count(); ++i) inputs.grad_voxel_feats.push_back(value(random));
  scatter_forward(inputs);
  return inputs;
}

TEST(OpsDynamicScatterBackward, NetworkSize) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const bool shuffled : {false, true})
    expect_reference(lidar_inputs({17176, 13743, 128, 13743}, 64, shuffled, random));
}

TEST(BigDynamicScatterBackward, LargeScan) {
  auto random = seeded_random();
  for (const bool shuffled : {false, true}) {
    const auto inputs = lidar_inputs({500000, 100000, 64, 100000}, 128, shuffled, random);
    const auto expected = dynamic_scatter_reference(inputs);
    for (const int count : {1, 2, 16}) {
      const ScopedThreads threads(count);
      expect_identical(inputs, expected, Placement::kAligned);
      expect_identical(inputs, expected, Placement::kAgainstEnd);
    }
  }
}

}  // namespace
}  // namespace mluop::test
