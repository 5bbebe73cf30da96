// Properties of mluOpVoxelization that need no oracle. The last column of a point is its index.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ops/voxelization/call.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 16;

class OpsVoxelizationProperties : public ::testing::Test {
 protected:
  // At most 2^24 points: fp32 represents their indices. Coordinates are integers, cells of size 1 or 2.
  VoxelizationInputs random_problem() {
    VoxelizationProblem problem = voxelization_problem(random_size(random, 6000), random_integer(random, 3) + 7,
                                                       random_size(random, 9), random_size(random, 700), 2);
    for (int axis = 0; axis < 3; ++axis) {
      problem.voxel_size[axis] = static_cast<float>(1 + random() % 2);
      problem.coors_range[axis] = -10;
      problem.coors_range[axis + 3] = 10;
    }
    VoxelizationInputs inputs{problem,
                              random_integers<float>(static_cast<size_t>(problem.points_count()), random, 12)};
    for (int64_t p = 0; p < problem.N; ++p) {
      inputs.points[static_cast<size_t>((p + 1) * problem.F - 1)] = static_cast<float>(p);
    }
    return inputs;
  }

  std::mt19937 random = seeded_random();
};

VoxelizationOutputs result_of(const VoxelizationInputs& inputs) {
  const Handle handle;
  const VoxelizationCall call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.outputs();
}

// The indices of the points in a voxel.
std::vector<int64_t> points_of(const VoxelizationInputs& inputs, const VoxelizationOutputs& outputs,
                               int64_t voxel) {
  const VoxelizationProblem& p = inputs.problem;
  std::vector<int64_t> points;
  for (int64_t i = 0; i < outputs.num_points_per_voxel[static_cast<size_t>(voxel)]; ++i) {
    points.push_back(
        static_cast<int64_t>(outputs.voxels[static_cast<size_t>(((voxel * p.max_points + i) + 1) * p.F - 1)]));
  }
  return points;
}

// Each row of a voxel is a point of its cell, ascending; first points ascend over the voxels; cells are distinct.
TEST_F(OpsVoxelizationProperties, PointsOfTheirCells) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = random_problem();
    const VoxelizationProblem& p = inputs.problem;
    const RandomTeam team(random);
    const auto outputs = result_of(inputs);
    std::map<std::vector<int32_t>, int64_t> cells;
    int64_t last_first = -1;
    for (int64_t voxel = 0; voxel < outputs.voxel_num[0]; ++voxel) {
      const std::vector<int32_t> cell(outputs.coors.begin() + voxel * 3, outputs.coors.begin() + voxel * 3 + 3);
      EXPECT_TRUE(cells.emplace(cell, voxel).second);
      const auto points = points_of(inputs, outputs, voxel);
      ASSERT_FALSE(points.empty());
      EXPECT_TRUE(std::is_sorted(points.begin(), points.end(), std::less_equal<>()));
      EXPECT_GT(points[0], last_first);
      last_first = points[0];
      for (size_t i = 0; i < points.size(); ++i) {
        const float* point = inputs.points.data() + points[i] * p.F;
        EXPECT_TRUE(std::equal(point, point + p.F,
                               outputs.voxels.begin() + (voxel * p.max_points + static_cast<int64_t>(i)) * p.F));
        for (size_t axis = 0; axis < 3; ++axis) {
          const int offset = static_cast<int>(point[axis]) + 10;
          EXPECT_EQ(cell[2 - axis], offset / static_cast<int>(p.voxel_size[axis]));
        }
      }
    }
  }
}

// With room for all, every point in range is in a voxel, once.
TEST_F(OpsVoxelizationProperties, NoPointIsLost) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    auto inputs = random_problem();
    VoxelizationProblem& p = inputs.problem;
    p.N = std::min<int64_t>(p.N, 500);
    inputs.points.resize(static_cast<size_t>(p.points_count()));
    p.max_points = p.max_voxels = p.N;
    const RandomTeam team(random);
    const auto outputs = result_of(inputs);
    std::vector<int64_t> found, expected;
    for (int64_t voxel = 0; voxel < outputs.voxel_num[0]; ++voxel) {
      const auto points = points_of(inputs, outputs, voxel);
      found.insert(found.end(), points.begin(), points.end());
    }
    for (int64_t i = 0; i < p.N; ++i) {
      const float* point = inputs.points.data() + i * p.F;
      if (std::all_of(point, point + 3, [](float x) { return -10 <= x && x < 10; })) expected.push_back(i);
    }
    std::sort(found.begin(), found.end());
    EXPECT_TRUE(found == expected);
  }
}

// Fewer voxels and points are the first of more.
TEST_F(OpsVoxelizationProperties, Prefixes) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = random_problem();
    auto more = inputs;
    more.problem.max_points += 3;
    more.problem.max_voxels += 200;
    const RandomTeam team(random);
    const auto few = result_of(inputs), many = result_of(more);
    EXPECT_EQ(few.voxel_num[0], std::min<int64_t>(many.voxel_num[0], inputs.problem.max_voxels));
    for (int64_t voxel = 0; voxel < few.voxel_num[0]; ++voxel) {
      auto expected = points_of(more, many, voxel);
      expected.resize(std::min(expected.size(), static_cast<size_t>(inputs.problem.max_points)));
      ASSERT_TRUE(points_of(inputs, few, voxel) == expected);
    }
  }
}

}  // namespace
}  // namespace mluop::test
