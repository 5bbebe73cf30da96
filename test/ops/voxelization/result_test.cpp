// mluOpVoxelization against the serial loop of its definition, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "ops/voxelization/call.h"
#include "ops/voxelization/native/workspace.h"
#include "support/environment.h"
#include "support/lidar_scan.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using Sizes = voxelization::native::Sizes;

// Points are copied: NaN keep their bits.
bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_outputs(const VoxelizationInputs& inputs, const VoxelizationOutputs& expected,
                    Placement placement = Placement::kAligned) {
  for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    const VoxelizationCall call(handle, inputs, placement);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const auto outputs = call.outputs();
    EXPECT_EQ(outputs.voxel_num, expected.voxel_num);
    EXPECT_TRUE(outputs.coors == expected.coors);
    EXPECT_TRUE(outputs.num_points_per_voxel == expected.num_points_per_voxel);
    EXPECT_TRUE(same_bytes(outputs.voxels, expected.voxels));
    EXPECT_TRUE(call.intact());
  }
}

void expect_reference(const VoxelizationInputs& inputs, Placement placement = Placement::kAligned) {
  const VoxelizationProblem& p = inputs.problem;
  SCOPED_TRACE(product_text({p.N, p.F, p.max_points, p.max_voxels}));
  expect_outputs(inputs, voxelization_reference(inputs), placement);
}

TEST(OpsVoxelization, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  // Vectors and groups of points, buckets and chunks, less and plus one.
  for (const int64_t N : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{15}, int64_t{16}, int64_t{17}, int64_t{63},
                          int64_t{64}, int64_t{65}, 2 * Sizes::kBucketPoints - 1, 2 * Sizes::kBucketPoints,
                          Sizes::kChunkPoints - 1, Sizes::kChunkPoints, Sizes::kChunkPoints + 1}) {
    expect_reference(random_voxelization(voxelization_problem(N, 4, 5, 200, 10), random));
    expect_reference(random_voxelization(voxelization_problem(N, 5, 1, 3, 3), random));
  }
  // The number of columns, up to and beyond two vectors of a copy.
  for (const int64_t F : {3, 4, 5, 7, 8, 9, 17, 64}) {
    expect_reference(random_voxelization(voxelization_problem(100, F, 3, 50, 5), random));
  }
  for (const int64_t max_points : {0, 1, 2, 100}) {
    for (const int64_t max_voxels : {0, 1, 2, 63, 64, 65, 1000}) {
      expect_reference(random_voxelization(voxelization_problem(500, 4, max_points, max_voxels, 4), random));
    }
  }
  // The largest number of buckets.
  expect_reference(random_voxelization(
      voxelization_problem(Sizes::kMaxBuckets * Sizes::kBucketPoints + 1, 3, 4, 20000, 40), random));
}

TEST(OpsVoxelization, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int64_t F : {3, 4, 5, 9}) {
      expect_reference(random_voxelization(voxelization_problem(1003, F, 3, 101, 5), random), placement);
    }
  }
}

TEST(OpsVoxelization, ThreadCounts) {
  auto random = seeded_random();
  for (const int64_t N : {777, 50001}) {
    const auto inputs = random_voxelization(voxelization_problem(N, 5, 6, N / 20, 20), random);
    const auto expected = voxelization_reference(inputs);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_outputs(inputs, expected);
    }
  }
}

TEST(OpsVoxelization, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto inputs = random_voxelization(voxelization_problem(9000, 4, 3, 500, 10), random);
  for (const char* kib : {"1", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference(inputs);
  }
}

// The workspace suffices for every number of threads, also those set after the query; the handle is reused.
TEST(OpsVoxelization, ReusedHandle) {
  auto random = seeded_random();
  const Handle handle;
  for (const int64_t N : {1000, 3, 50000, 1}) {
    const auto inputs = random_voxelization(voxelization_problem(N, 4, 4, 3000, 16), random);
    const ScopedThreads one(1);
    const VoxelizationCall call(handle, inputs);
    const ScopedThreads many(64);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(call.outputs().coors == voxelization_reference(inputs).coors);
    EXPECT_TRUE(call.intact());
  }
}

// Voxels are numbered by their first points; those of later first points than the last voxel are dropped, while
// points of kept voxels still enter.
TEST(OpsVoxelization, FirstComeFirstServed) {
  const VoxelizationInputs inputs{{6, 3, 2, 2, {1, 1, 1}, {0, 0, 0, 4, 4, 4}},
                                  {3.5F, 2.5F, 1.5F,  // voxel 0
                                   0, 0, 0,           // voxel 1
                                   1, 1, 1,           // dropped
                                   3, 2, 1,           // voxel 0
                                   3.9F, 2.9F, 1.9F,  // voxel 0, which is full
                                   -1, 0, 0}};        // out of range
  expect_outputs(inputs, {{3.5F, 2.5F, 1.5F, 3, 2, 1, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 0, 0, 0}, {2, 1}, {2}});
}

// In fp32, 5 * 0.16 / 0.16 is 5 and 15 * 0.075 / 0.075 less than 15; multiplied by the inverses, they are less
// than 5 and 15.
TEST(OpsVoxelization, DividesInFp32) {
  const std::vector<float> point = {5 * 0.16F, 15 * 0.075F, 0};
  const VoxelizationInputs inputs{{1, 3, 1, 1, {0.16F, 0.075F, 1}, {0, 0, 0, 9, 9, 9}}, point};
  expect_outputs(inputs, {point, {0, 14, 5}, {1}, {1}});
}

// The number of cells is rounded half away from zero: 2.5 cells are 3, 2.25 are 2.
TEST(OpsVoxelization, RoundsTheNumberOfCells) {
  const VoxelizationInputs inputs{{3, 3, 1, 3, {1, 1, 1}, {0, 0, 0, 2.5F, 2.25F, 9}},
                                  {2.75F, 0, 0, 0, 2, 0, 3, 0, 0}};
  expect_outputs(inputs, {{2.75F, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 2, 0, 0, 0, 0, 0, 0}, {1, 0, 0}, {1}});
}

// Axes without cells, and the largest grid.
TEST(OpsVoxelization, Grids) {
  auto random = seeded_random();
  auto inputs = random_voxelization(voxelization_problem(300, 4, 3, 20, 4), random);
  inputs.problem.coors_range[3] = -1;
  expect_reference(inputs);
  inputs.problem.coors_range[3] = -2;
  expect_reference(inputs);
  inputs = random_voxelization(voxelization_problem(300, 4, 3, 400, 4), random);
  inputs.problem.voxel_size[0] = inputs.problem.voxel_size[2] = 0x1p-30F;
  inputs.problem.voxel_size[1] = 2;
  expect_reference(inputs);
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
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const Distribution& distribution : kDistributions) {
    SCOPED_TRACE(distribution.name);
    auto inputs = random_voxelization(voxelization_problem(20000, 4, 7, 900, 16), random);
    inputs.problem.voxel_size[0] = 0x1p-14F;
    for (int64_t p = 0; p < 20000; ++p) distribution.place(inputs.points.data() + p * 4, p, random);
    expect_reference(inputs);
  }
}

// A turn of a LiDAR, in the grid of SECOND on KITTI.
TEST(OpsVoxelization, NetworkSize) {
  const auto turn = lidar_turn({64, 1800, -24.9, 2.0, 1.73}, 0, 0);
  VoxelizationInputs inputs{
      {static_cast<int64_t>(turn.size()), 4, 5, 20000, {0.05F, 0.05F, 0.1F}, {0, -40, -3, 70.4F, 40, 1}}, {}};
  for (const Position& position : turn) {
    for (const size_t axis : {2, 1, 0}) inputs.points.push_back(static_cast<float>(position[axis]));
    inputs.points.push_back(static_cast<float>(inputs.points.size() % 256) / 255);
  }
  const auto expected = voxelization_reference(inputs);
  EXPECT_GT(expected.voxel_num[0], 5000);
  const ScopedThreads threads(2);
  expect_outputs(inputs, expected);
}

TEST(BigVoxelization, DocumentSize) {
  auto random = seeded_random();
  expect_reference(random_voxelization(voxelization_problem(253999, 5, 20, 30000, 40), random));
  expect_reference(random_voxelization(voxelization_problem(3000000, 4, 5, 160000, 100), random));
}

}  // namespace
}  // namespace mluop::test
