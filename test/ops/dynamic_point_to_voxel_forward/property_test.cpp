// Properties of mluOpDynamicPointToVoxelForward that need no oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 12;

// Features are integers: their sums are exact in any order.
PointToVoxelInputs random_problem(mluOpReduceMode_t reduce_type, std::mt19937& random) {
  constexpr int32_t kExtents[] = {1, 3, 9, 40, 3000, 1 << 30};
  auto inputs = random_point_to_voxel(random_size(random, 2000), random_size(random, 70), kExtents[random() % 6],
                                      reduce_type, random);
  for (float& value : inputs.feats) value = static_cast<float>(random_integer(random, 1000));
  return inputs;
}

struct Outputs {
  int32_t voxel_num;
  std::vector<float> voxel_feats;
  std::vector<int32_t> voxel_coors, map, counts;
};

Outputs outputs_of(const PointToVoxelInputs& inputs) {
  const Handle handle;
  const PointToVoxelCall call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  const auto first = [&](auto values, int64_t row) {
    values.resize(static_cast<size_t>(call.num_buffer[0] * row));
    return values;
  };
  return {call.num_buffer[0], first(call.voxel_feats_buffer.values(), inputs.channels),
          first(call.voxel_coors_buffer.values(), 3), call.map_buffer.values(),
          first(call.count_buffer.values(), 1)};
}

// Voxels ascend strictly. The voxel of each point has its coordinates, and as many points as counted.
TEST(OpsDynamicPointToVoxelForwardProperties, MapIsAPartition) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = random_problem(MLUOP_REDUCE_DMAX, random);
    const RandomTeam team(random);
    const Outputs outputs = outputs_of(inputs);
    const auto voxel = [&](size_t v) { return outputs.voxel_coors.begin() + static_cast<ptrdiff_t>(3 * v); };
    for (size_t v = 1; v < outputs.counts.size(); ++v) {
      ASSERT_TRUE(std::lexicographical_compare(voxel(v - 1), voxel(v), voxel(v), voxel(v) + 3)) << v;
    }
    std::vector<int32_t> counts(outputs.counts.size());
    for (size_t n = 0; n < outputs.map.size(); ++n) {
      const auto coor = inputs.coors.begin() + static_cast<ptrdiff_t>(3 * n);
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
    const auto inputs = random_problem(MLUOP_REDUCE_DSUM, random);
    const RandomTeam team(random);
    const Outputs outputs = outputs_of(inputs);
    double sum = 0;
    for (size_t i = 0; i < inputs.feats.size(); ++i) {
      if (outputs.map[i / static_cast<size_t>(inputs.channels)] >= 0) sum += inputs.feats[i];
    }
    EXPECT_EQ(std::accumulate(outputs.voxel_feats.begin(), outputs.voxel_feats.end(), 0.0), sum) << round;
  }
}

// Moving the grid, or permuting the points, changes no voxel: features and counts are the same.
TEST(OpsDynamicPointToVoxelForwardProperties, TranslationAndPermutation) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = random_problem(kReduceTypes[round % 3], random);
    const RandomTeam team(random);
    const Outputs outputs = outputs_of(inputs);
    auto moved = inputs;
    const int32_t by[] = {5, 1000, 1 << 20};
    for (size_t n = 0; n < static_cast<size_t>(inputs.points); ++n) {
      if (outputs.map[n] == -1) continue;
      for (size_t axis = 0; axis < 3; ++axis) moved.coors[3 * n + axis] += by[axis];
    }
    const Outputs of_moved = outputs_of(moved);
    EXPECT_EQ(of_moved.voxel_feats, outputs.voxel_feats);
    EXPECT_EQ(of_moved.map, outputs.map);

    auto permuted = inputs;
    const auto order = random_permutation(static_cast<int>(inputs.points), random);
    for (size_t n = 0; n < order.size(); ++n) {
      const auto from = static_cast<ptrdiff_t>(order[n]), to = static_cast<ptrdiff_t>(n);
      std::copy_n(inputs.coors.begin() + 3 * from, 3, permuted.coors.begin() + 3 * to);
      std::copy_n(inputs.feats.begin() + inputs.channels * from, inputs.channels,
                  permuted.feats.begin() + inputs.channels * to);
    }
    const Outputs of_permuted = outputs_of(permuted);
    EXPECT_EQ(of_permuted.voxel_feats, outputs.voxel_feats);
    EXPECT_EQ(of_permuted.counts, outputs.counts);
    EXPECT_EQ(of_permuted.voxel_coors, outputs.voxel_coors);
  }
}

}  // namespace
}  // namespace mluop::test
