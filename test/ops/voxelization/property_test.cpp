// Properties of mluOpVoxelization that need no oracle. The last column of a point is its index.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "support/operator_call.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int kRounds = 16;

// At most 2^24 points: fp32 represents their indices. Coordinates are integers, cells of size 1 or 2.
Case random_problem(std::mt19937& random, int most_points) {
  const int64_t N = random_size(random, most_points), F = random_integer(random, 3) + 7;
  Case made = make_case(
      "voxelization", MLUOP_DTYPE_FLOAT,
      {{"n", N}, {"f", F}, {"max_points", random_size(random, 9)}, {"max_voxels", random_size(random, 700)}});
  std::vector<float> sizes;
  for (int axis = 0; axis < 3; ++axis) sizes.push_back(static_cast<float>(1 + random() % 2));
  set_values(made, "voxel_size", sizes);
  set_values(made, "coors_range", std::vector<float>{-10, -10, -10, 10, 10, 10});
  auto points = random_integers<float>(static_cast<size_t>(N * F), random, 12);
  for (int64_t p = 0; p < N; ++p) points[static_cast<size_t>((p + 1) * F - 1)] = static_cast<float>(p);
  set_values(made, "points", points);
  return made;
}

// The same points with other limits.
Case with_limits(Case made, int64_t max_points, int64_t max_voxels) {
  made.parameters.set("max_points", max_points);
  made.parameters.set("max_voxels", max_voxels);
  made.outputs[0].dims = {max_voxels, max_points, made.inputs[0].dims[1]};
  made.outputs[1].dims[0] = made.outputs[2].dims[0] = max_voxels;
  return made;
}

struct Voxel {
  std::vector<int32_t> cell;    // z, y, x
  std::vector<int64_t> points;  // their indices
};

// Each row of a voxel must be a point.
std::vector<Voxel> voxels_of(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  const auto points = call.floats("points"), rows = call.floats("voxels");
  const auto coors = call.int32s("coors"), counts = call.int32s("num_points_per_voxel");
  const int64_t max_points = call["voxels"].dim(1), F = call["voxels"].dim(2);
  std::vector<Voxel> voxels;
  for (int64_t v = 0; v < call.int32s("voxel_num")[0]; ++v) {
    Voxel& voxel = voxels.emplace_back();
    voxel.cell.assign(coors.begin() + v * 3, coors.begin() + v * 3 + 3);
    for (int64_t i = 0; i < counts[static_cast<size_t>(v)]; ++i) {
      const float* row = rows.data() + (v * max_points + i) * F;
      voxel.points.push_back(static_cast<int64_t>(row[F - 1]));
      EXPECT_TRUE(std::equal(row, row + F, points.data() + voxel.points.back() * F));
    }
  }
  return voxels;
}

// Each row of a voxel is a point of its cell, ascending; first points ascend over the voxels; cells are distinct.
TEST(OpsVoxelizationProperties, PointsOfTheirCells) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_problem(random, 6000);
    const auto coordinates = floats_of(made, "points"), sizes = floats_of(made, "voxel_size");
    const RandomTeam team(random);
    std::map<std::vector<int32_t>, size_t> cells;
    int64_t last_first = -1;
    for (const Voxel& voxel : voxels_of(made)) {
      EXPECT_TRUE(cells.emplace(voxel.cell, cells.size()).second);
      ASSERT_FALSE(voxel.points.empty());
      EXPECT_TRUE(std::is_sorted(voxel.points.begin(), voxel.points.end(), std::less_equal<>()));
      EXPECT_GT(voxel.points[0], last_first);
      last_first = voxel.points[0];
      for (const int64_t point : voxel.points) {
        for (size_t axis = 0; axis < 3; ++axis) {
          const float coordinate = coordinates[static_cast<size_t>(point * made.inputs[0].dims[1]) + axis];
          EXPECT_EQ(voxel.cell[2 - axis], (static_cast<int>(coordinate) + 10) / static_cast<int>(sizes[axis]));
        }
      }
    }
  }
}

// With room for all, every point in range is in a voxel, once.
TEST(OpsVoxelizationProperties, NoPointIsLost) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_problem(random, 500);
    const auto coordinates = floats_of(made, "points");
    const int64_t N = made.inputs[0].dims[0], F = made.inputs[0].dims[1];
    const RandomTeam team(random);
    std::vector<int64_t> found, expected;
    for (const Voxel& voxel : voxels_of(with_limits(made, N, N))) {
      found.insert(found.end(), voxel.points.begin(), voxel.points.end());
    }
    for (int64_t i = 0; i < N; ++i) {
      const float* point = coordinates.data() + i * F;
      if (std::all_of(point, point + 3, [](float x) { return -10 <= x && x < 10; })) expected.push_back(i);
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
  }
}

// Fewer voxels and points are the first of more.
TEST(OpsVoxelizationProperties, Prefixes) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_problem(random, 6000);
    const int64_t max_voxels = made.outputs[0].dims[0], max_points = made.outputs[0].dims[1];
    const RandomTeam team(random);
    const auto few = voxels_of(made), many = voxels_of(with_limits(made, max_points + 3, max_voxels + 200));
    ASSERT_EQ(few.size(), std::min(many.size(), static_cast<size_t>(max_voxels)));
    for (size_t v = 0; v < few.size(); ++v) {
      auto expected = many[v].points;
      expected.resize(std::min(expected.size(), static_cast<size_t>(max_points)));
      EXPECT_EQ(few[v].cell, many[v].cell);
      EXPECT_EQ(few[v].points, expected);
    }
  }
}

}  // namespace
}  // namespace mluop::test
