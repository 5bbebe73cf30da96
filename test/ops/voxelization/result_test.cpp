// mluOpVoxelization against the serial loop of its definition, bit for bit, at sizes and with values that its
// kernels distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "ops/voxelization/voxelization_native_kernels.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/scenes.h"
#include "support/sized_case.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;
using VoxelizationBuckets = voxelization::native::Sizes;

// n, f, max_points, max_voxels, cells: points of the cube [-1, 1), most of them in a grid of `cells` cells along
// each axis.
Case make(const std::vector<int64_t>& sizes) { return sized_case("voxelization", MLUOP_DTYPE_FLOAT, sizes); }

void expect_voxelization(const Case& made) {
  EXPECT_TRUE(expect_contract(made, MLUOP_OMP_ALGORITHM_NATIVE)) << mluOpOmpGetLastError();
}

Case with_grid(Case made, const std::vector<float>& voxel_size, const std::vector<float>& coors_range) {
  set_values(made, "voxel_size", voxel_size);
  set_values(made, "coors_range", coors_range);
  return made;
}

TEST(OpsVoxelization, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  constexpr int64_t kBucket = VoxelizationBuckets::kBucketPoints, kChunk = VoxelizationBuckets::kChunkPoints;
  std::vector<std::vector<int64_t>> all = {
      // More columns than two vectors of a copy.
      {100, 9, 3, 50, 5},
      {100, 17, 3, 50, 5},
      {100, 64, 3, 50, 5},
      // The largest number of buckets.
      {VoxelizationBuckets::kMaxBuckets * kBucket + 1, 3, 4, 20000, 40},
  };
  // Numbers of points around the sizes of buckets and chunks.
  for (const int64_t n : {2 * kBucket - 1, 2 * kBucket, kChunk - 1, kChunk, kChunk + 1}) {
    all.insert(all.end(), {{n, 4, 5, 200, 10}, {n, 5, 1, 3, 3}});
  }
  // Limits of points or voxels above the existing numbers, and one point in each of many voxels.
  for (const int64_t max_points : {0, 1, 2, 100}) {
    for (const int64_t max_voxels : {0, 1, 63, 64, 65, 1000}) all.push_back({500, 4, max_points, max_voxels, 4});
  }
  const ScopedThreads threads(3);
  for (const auto& sizes : all) {
    SCOPED_TRACE(::testing::PrintToString(sizes));
    expect_voxelization(make(sizes));
  }
}

// Many chunks, with a tail.
TEST(OpsVoxelization, ThreadCounts) {
  MLUOP_LABELS(kManyThreads);
  const Case made = make({50001, 5, 6, 2500, 20});
  const Oracle oracle(made);
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE));
  }
}

struct Voxels {
  std::vector<float> voxels;
  std::vector<int32_t> coors, num_points_per_voxel;
  int32_t voxel_num;
};

// Points of three coordinates, in a grid with its first cell at the origin.
void expect_voxels(const std::vector<float>& points, const std::vector<float>& voxel_size,
                   const std::vector<float>& extent, int64_t max_points, const Voxels& expected) {
  const auto max_voxels = static_cast<int64_t>(expected.num_points_per_voxel.size());
  Case made = with_grid(make({static_cast<int64_t>(points.size()) / 3, 3, max_points, max_voxels}), voxel_size,
                        {0, 0, 0, extent[0], extent[1], extent[2]});
  set_values(made, "points", points);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("voxels"), expected.voxels);
  EXPECT_EQ(call.int32s("coors"), expected.coors);
  EXPECT_EQ(call.int32s("num_points_per_voxel"), expected.num_points_per_voxel);
  EXPECT_EQ(call.int32s("voxel_num"), std::vector<int32_t>{expected.voxel_num});
}

// Voxels are numbered by their first points; voxels after the last row are dropped, while later points of kept
// voxels are still added.
TEST(OpsVoxelization, FirstComeFirstServed) {
  expect_voxels({3.5F, 2.5F, 1.5F,  // voxel 0
                 0, 0, 0,           // voxel 1
                 1, 1, 1,           // dropped
                 3, 2, 1,           // voxel 0
                 3.9F, 2.9F, 1.9F,  // voxel 0, which is full
                 -1, 0, 0},         // out of range
                {1, 1, 1}, {4, 4, 4}, 2,
                {{3.5F, 2.5F, 1.5F, 3, 2, 1, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 0, 0, 0}, {2, 1}, 2});
}

// In fp32, 5 * 0.16 / 0.16 is 5 and 15 * 0.075 / 0.075 less than 15; multiplied by the inverses, they are less
// than 5 and 15.
TEST(OpsVoxelization, DividesInFp32) {
  const std::vector<float> point = {5 * 0.16F, 15 * 0.075F, 0};
  expect_voxels(point, {0.16F, 0.075F, 1}, {9, 9, 9}, 1, {point, {0, 14, 5}, {1}, 1});
}

// The number of cells is rounded half away from zero: 2.5 cells are 3, 2.25 are 2.
TEST(OpsVoxelization, RoundsTheNumberOfCells) {
  expect_voxels({2.75F, 0, 0, 0, 2, 0, 3, 0, 0}, {1, 1, 1}, {2.5F, 2.25F, 9}, 1,
                {{2.75F, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 2, 0, 0, 0, 0, 0, 0}, {1, 0, 0}, 1});
}

// Axes without cells, and the largest grid.
TEST(OpsVoxelization, Grids) {
  for (const float upper : {-1.0F, -2.0F}) {
    expect_voxelization(with_grid(make({300, 4, 3, 20}), {0.5F, 0.5F, 0.5F}, {-1, -1, -1, upper, 1, 1}));
  }
  expect_voxelization(with_grid(make({300, 4, 3, 400}), {0x1p-30F, 2, 0x1p-30F}, {-1, -1, -1, 1, 1, 1}));
}

struct Distribution {
  const char* name;
  std::function<void(float* point, int64_t p, std::mt19937& random)> place;
};

const Distribution kDistributions[] = {
    {"one cell", [](float* p, int64_t, auto&) { p[0] = p[1] = p[2] = 0.5F; }},
    {"all out of range", [](float* p, int64_t, auto&) { p[1] = 1; }},
    {"the last is in range", [](float* p, int64_t i, auto&) { p[2] = i == 19999 ? 0.5F : -1.001F; }},
    {"two cells in turns", [](float* p, int64_t i, auto&) { p[0] = p[1] = p[2] = i % 2 == 0 ? 0.5F : -0.5F; }},
    {"a cell of each point",
     [](float* p, int64_t i, auto&) {
       p[0] = static_cast<float>(i) * 0x1p-14F - 1;
       p[1] = p[2] = 0;
     }},
    {"boundaries of cells",
     [](float* p, int64_t, auto& random) {
       for (int i = 0; i < 3; ++i) p[i] = static_cast<float>(random() % 10) * 0.25F - 1.125F;
     }},
    {"not finite",
     [](float* p, int64_t, auto& random) {
       const float specials[] = {kNan, kInfinity, -kInfinity, 3.0e38F, -3.0e38F, -0.0F};
       if (random() % 3 != 0) p[random() % 4] = specials[random() % 6];
     }},
};

TEST(OpsVoxelization, Distributions) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  const ScopedThreads threads(3);
  Case made = with_grid(make({20000, 4, 7, 900}), {0x1p-14F, 0.125F, 0.125F}, {-1, -1, -1, 1, 1, 1});
  const std::vector<float> drawn = floats_of(made, "points");
  for (const Distribution& distribution : kDistributions) {
    SCOPED_TRACE(distribution.name);
    std::vector<float> points = drawn;
    for (int64_t p = 0; p < 20000; ++p) distribution.place(points.data() + p * 4, p, random);
    set_values(made, "points", points);
    expect_voxelization(made);
  }
}

// A turn of a LiDAR, in the grid of SECOND on KITTI.
TEST(OpsVoxelization, NetworkSize) {
  MLUOP_LABELS(kNetworkSize);
  std::vector<float> points;
  for (const Position& position : lidar_turn({64, 1800, -24.9, 2.0, 1.73}, 0, 0)) {
    for (const size_t axis : {2, 1, 0}) points.push_back(static_cast<float>(position[axis]));
    points.push_back(static_cast<float>(points.size() % 256) / 255);
  }
  Case made = with_grid(make({static_cast<int64_t>(points.size()) / 4, 4, 5, 20000}), {0.05F, 0.05F, 0.1F},
                        {0, -40, -3, 70.4F, 40, 1});
  set_values(made, "points", points);
  const ScopedThreads threads(2);
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
  EXPECT_GT(call.int32s("voxel_num")[0], 5000);
}

TEST(BigVoxelization, DocumentSize) {
  expect_voxelization(make({253999, 5, 20, 30000, 40}));
  expect_voxelization(make({3000000, 4, 5, 160000, 100}));
}

}  // namespace
}  // namespace mluop::test
