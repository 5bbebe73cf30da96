// mluOpVoxelization with voxels of more than 2^31 elements: every element against the oracle, of the voxels that
// there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "large/large_memory.h"
#include "reference/voxelization.h"
#include "support/api.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

TEST(LargeVoxelization, Voxels) {
  MLUOP_REQUIRE_MEMORY(10);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  // 100 x 100 x 100 cells, of 5 points in the mean.
  reference::VoxelizationProblem problem = {5'000'000, 3, 740, 1'000'000, {1, 1, 1}, {0, 0, 0, 100, 100, 100}};
  ASSERT_GT(problem.voxels_count(), kLimit);
  std::vector<float> points(static_cast<size_t>(problem.points_count()));
  for (float& coordinate : points) coordinate = static_cast<float>(random() % 1'000'000) * 1e-4F;
  const LargeBuffer<float> voxels(problem.voxels_count(), Pages::kDense);
  voxels.poison();
  std::vector<int32_t> coors(static_cast<size_t>(problem.max_voxels * 3)), counts(coors.size() / 3);
  int32_t voxel_num = 0;

  const Handle handle;
  const Descriptor points_desc(MLUOP_DTYPE_FLOAT, {problem.N, problem.F});
  const Descriptor size_desc(MLUOP_DTYPE_FLOAT, {3}), range_desc(MLUOP_DTYPE_FLOAT, {6});
  const Descriptor voxels_desc(MLUOP_DTYPE_FLOAT, {problem.max_voxels, problem.max_points, problem.F});
  const Descriptor coors_desc(MLUOP_DTYPE_INT32, {problem.max_voxels, 3});
  const Descriptor counts_desc(MLUOP_DTYPE_INT32, {problem.max_voxels}), num_desc(MLUOP_DTYPE_INT32, {1});
  const auto max_points = static_cast<int32_t>(problem.max_points);
  const auto max_voxels = static_cast<int32_t>(problem.max_voxels);
  size_t bytes = 0;
  require(mluOpGetVoxelizationWorkspaceSize(handle, points_desc, size_desc, range_desc, max_points, max_voxels, 3,
                                            true, voxels_desc, coors_desc, counts_desc, num_desc, &bytes));
  const LargeMemory workspace(bytes, Pages::kDense);
  ASSERT_EQ(mluOpVoxelization(handle, points_desc, points.data(), size_desc, problem.voxel_size, range_desc,
                              problem.coors_range, max_points, max_voxels, 3, true, workspace.bytes(), bytes,
                              voxels_desc, voxels.data(), coors_desc, coors.data(), counts_desc, counts.data(),
                              num_desc, &voxel_num),
            MLUOP_STATUS_SUCCESS)
      << mluOpOmpGetLastError();

  // No cell has 40 points, so the oracle needs no more.
  const int64_t stored = 40;
  problem.max_points = stored;
  std::vector<float> expected(static_cast<size_t>(problem.voxels_count()));
  std::vector<int32_t> expected_coors(coors.size()), expected_counts(counts.size());
  int32_t expected_num = 0;
  reference::voxelization(problem, points.data(), expected.data(), expected_coors.data(), expected_counts.data(),
                          &expected_num);
  ASSERT_LT(*std::max_element(expected_counts.begin(), expected_counts.end()), stored);
  EXPECT_EQ(voxel_num, expected_num);
  ASSERT_GT(problem.F * voxel_num * max_points, kLimit) << "no point is stored that far";
  EXPECT_TRUE(coors == expected_coors);
  EXPECT_TRUE(counts == expected_counts);
  const auto holds = [&](int64_t voxel) {
    const float* row = voxels.data() + voxel * max_points * problem.F;
    const float* past = row + stored * problem.F;
    return std::equal(row, past, expected.begin() + voxel * stored * problem.F) &&
           all_zero(past, static_cast<size_t>((max_points - stored) * problem.F) * sizeof(float));
  };
  EXPECT_EQ(first_violation(problem.max_voxels, holds), problem.max_voxels);
}

}  // namespace
}  // namespace mluop::test
