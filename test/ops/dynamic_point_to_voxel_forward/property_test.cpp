// Properties of mluOpDynamicPointToVoxelForward that need no oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/operator_call.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int kRounds = 12;

// Features are integers: their sums are exact in any order.
Case random_problem(mluOpReduceMode_t reduce_type, std::mt19937& random) {
  constexpr int64_t kGrids[] = {1, 3, 9, 40, 3000, 1 << 30};
  Case made = make_case("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT,
                        {{"n", random_size(random, 2000)},
                         {"c", random_size(random, 70)},
                         {"grid", kGrids[random() % 6]},
                         {"reduce_type", reduce_type}},
                        static_cast<int32_t>(random() % 1000));
  const auto count = static_cast<size_t>(element_count(made.inputs[0]));
  set_values(made, "feats", random_integers<float>(count, random, 1000));
  return made;
}

struct Outputs {
  std::vector<float> voxel_feats;
  std::vector<int32_t> voxel_coors, map, counts;
};

// Those of the voxels, without the rows past the last.
Outputs outputs_of(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  const auto first_rows = [&](auto values, int64_t columns) {
    values.resize(static_cast<size_t>(call.int32s("voxel_num")[0] * columns));
    return values;
  };
  return {first_rows(call.floats("voxel_feats"), call["feats"].dim(1)), first_rows(call.int32s("voxel_coors"), 3),
          call.int32s("point2voxel_map"), first_rows(call.int32s("voxel_points_count"), 1)};
}

// Voxels ascend strictly. The voxel of each point has its coordinates, and as many points as counted.
TEST(OpsDynamicPointToVoxelForwardProperties, MapIsAPartition) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_problem(MLUOP_REDUCE_DMAX, random);
    const std::vector<int32_t> coors = int32s_of(made, "coors");
    const RandomTeam team(random);
    const Outputs outputs = outputs_of(made);
    const auto voxel = [&](size_t v) { return outputs.voxel_coors.begin() + static_cast<ptrdiff_t>(3 * v); };
    for (size_t v = 1; v < outputs.counts.size(); ++v) {
      ASSERT_TRUE(std::lexicographical_compare(voxel(v - 1), voxel(v), voxel(v), voxel(v) + 3)) << v;
    }
    std::vector<int32_t> counts(outputs.counts.size());
    for (size_t n = 0; n < outputs.map.size(); ++n) {
      const auto coor = coors.begin() + static_cast<ptrdiff_t>(3 * n);
      ASSERT_EQ(outputs.map[n] == -1, *std::min_element(coor, coor + 3) < 0) << n;
      if (outputs.map[n] == -1) continue;
      ASSERT_TRUE(std::equal(coor, coor + 3, voxel(static_cast<size_t>(outputs.map[n])))) << n;
      ++counts[static_cast<size_t>(outputs.map[n])];
    }
    EXPECT_EQ(counts, outputs.counts);
  }
}

// The sum over the voxels is that over the points that have a voxel.
TEST(OpsDynamicPointToVoxelForwardProperties, SumsAreConserved) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    const Case made = random_problem(MLUOP_REDUCE_DSUM, random);
    const std::vector<float> feats = floats_of(made, "feats");
    const RandomTeam team(random);
    const Outputs outputs = outputs_of(made);
    double sum = 0;
    for (size_t i = 0; i < feats.size(); ++i) {
      if (outputs.map[i / (feats.size() / outputs.map.size())] >= 0) sum += feats[i];
    }
    EXPECT_EQ(std::accumulate(outputs.voxel_feats.begin(), outputs.voxel_feats.end(), 0.0), sum) << round;
  }
}

// Moving the grid, or permuting the points, changes no voxel: features and counts are the same.
TEST(OpsDynamicPointToVoxelForwardProperties, TranslationAndPermutation) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_problem(static_cast<mluOpReduceMode_t>(round % 3), random);
    const std::vector<int32_t> coors = int32s_of(made, "coors");
    const RandomTeam team(random);
    const Outputs outputs = outputs_of(made);
    Case changed = made;
    std::vector<int32_t> moved = coors;
    const int32_t by[] = {5, 1000, 1 << 20};
    for (size_t i = 0; i < moved.size(); ++i) {
      if (outputs.map[i / 3] != -1) moved[i] += by[i % 3];
    }
    set_values(changed, "coors", moved);
    const Outputs of_moved = outputs_of(changed);
    EXPECT_EQ(of_moved.voxel_feats, outputs.voxel_feats);
    EXPECT_EQ(of_moved.map, outputs.map);

    const auto order = random_permutation(static_cast<int>(outputs.map.size()), random);
    const auto permuted = [&](auto rows) {
      const auto before = rows;
      const size_t columns = rows.size() / order.size();
      for (size_t i = 0; i < rows.size(); ++i) {
        rows[i] = before[static_cast<size_t>(order[i / columns]) * columns + i % columns];
      }
      return rows;
    };
    set_values(changed, "coors", permuted(coors));
    set_values(changed, "feats", permuted(floats_of(made, "feats")));
    const Outputs of_permuted = outputs_of(changed);
    EXPECT_EQ(of_permuted.voxel_feats, outputs.voxel_feats);
    EXPECT_EQ(of_permuted.counts, outputs.counts);
    EXPECT_EQ(of_permuted.voxel_coors, outputs.voxel_coors);
  }
}

}  // namespace
}  // namespace mluop::test
