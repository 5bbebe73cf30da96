// mluOpDynamicScatterBackward of sums and means, which run native in both algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "ops/dynamic_scatter_backward/call.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/random_problem.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr mluOpReduceMode_t kSums[] = {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN};

void expect_sums(DynamicScatterInputs inputs, Placement placement = Placement::kAligned) {
  for (const auto reduce_type : kSums) {
    inputs.reduce_type = reduce_type;
    const std::vector<float> expected = dynamic_scatter_reference(inputs);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(::testing::Message() << inputs.sizes.points << " points, " << inputs.sizes.channels
                                        << " channels, reduce_type " << reduce_type << ", " << text_of(algorithm));
      const Handle handle(algorithm);
      const DynamicScatterCall call(handle, inputs, placement);
      EXPECT_EQ(call.workspace_size, 0U);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(same_bits(call.output(), expected));
      EXPECT_TRUE(call.intact());
    }
  }
}

TEST(OpsDynamicScatterBackwardSums, HostileSizes) {
  auto random = seeded_random();
  constexpr DynamicScatterSizes kSumSizes[] = {
      {1, 1, 1, 1},             // one of everything
      {15, 3, 15, 3},           // a vector minus one
      {17, 5, 17, 5},           // a vector plus one
      {300, 7, 3, 7},           // fewer channels than a vector
      {5000, 1, 5, 1},          // one voxel
      {1000, 900, 20, 17},      // voxel_num below the number of voxels
      {500, 300, 8, 0},         // voxel_num 0
      {64, 20, 131, 20},        // vectors and a tail
      {40, 9, 2050, 9},         // long rows
      {20000, 6000, 64, 6000},  // whole cache lines, more than the caches
  };
  const ScopedThreads threads(3);
  for (const DynamicScatterSizes& sizes : kSumSizes) {
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      expect_sums(random_dynamic_scatter(sizes, random), placement);
    }
  }
}

TEST(OpsDynamicScatterBackwardSums, ThreadCounts) {
  auto random = seeded_random();
  const auto inputs = random_dynamic_scatter({9001, 2000, 24, 1999}, random);
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_sums(inputs);
  }
}

// NaN, infinities and zeros of both signs are copied, or divided; any count from 1 on is valid.
TEST(OpsDynamicScatterBackwardSums, SpecialValues) {
  auto random = seeded_random();
  constexpr float kValues[] = {kNan, kInfinity, -kInfinity, -0.0F, 0.0F, 1e-45F, 3e38F, 1.0F};
  constexpr int32_t kCounts[] = {1, 3, 16777217, INT32_MAX};
  auto inputs = random_dynamic_scatter({900, 100, 21, 100}, random);
  for (float& gradient : inputs.grad_voxel_feats) gradient = kValues[random() % 8];
  for (int32_t& count : inputs.voxel_points_count) count = kCounts[random() % 4];
  expect_sums(inputs);
}

TEST(OpsDynamicScatterBackwardSums, NoPointHasAVoxel) {
  auto random = seeded_random();
  for (const int points : {5, 30000}) {
    auto inputs = random_dynamic_scatter({points, 4, 64, 4}, random);
    std::fill(inputs.point2voxel_map.begin(), inputs.point2voxel_map.end(), -1);
    std::fill(inputs.voxel_points_count.begin(), inputs.voxel_points_count.end(), 0);
    expect_sums(inputs);
  }
}

// Forward and backward of one problem.
struct Problem {
  PointToVoxelInputs forward;
  std::vector<float> voxel_feats;
  DynamicScatterInputs backward;
};

// With a gradient for each voxel, integers as features are.
Problem random_problem(mluOpReduceMode_t reduce_type, std::mt19937& random) {
  Problem problem{
      random_point_to_voxel(random_size(random, 700), random_size(random, 40), 6, reduce_type, random), {}, {}};
  for (float& value : problem.forward.feats) value = static_cast<float>(random_integer(random, 100));
  const Handle handle;
  const PointToVoxelCall call(handle, problem.forward);
  require(call.run());
  const int voxels = call.num_buffer[0], channels = static_cast<int>(problem.forward.channels);
  problem.voxel_feats = call.voxel_feats_buffer.values();
  problem.voxel_feats.resize(static_cast<size_t>(voxels * channels));
  auto counts = call.count_buffer.values();
  counts.resize(static_cast<size_t>(voxels));
  problem.backward = {{static_cast<int>(problem.forward.points), voxels, channels, voxels},
                      random_integers<float>(problem.voxel_feats.size(), random, 100),
                      problem.forward.feats,
                      problem.voxel_feats,
                      call.map_buffer.values(),
                      counts,
                      reduce_type};
  return problem;
}

std::vector<float> gradients_of(const DynamicScatterInputs& inputs) {
  const Handle handle;
  const DynamicScatterCall call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.output();
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// The backward operator of the sum is the adjoint of the forward operator: <grad, forward(x)> = <backward(grad),
// x>, exactly for integers; that of the mean up to its roundings.
TEST(OpsDynamicScatterBackwardProperties, AdjointOfTheForwardOperator) {
  auto random = seeded_random();
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const RandomTeam team(random);
    const Problem sum = random_problem(MLUOP_REDUCE_DSUM, random);
    EXPECT_EQ(dot(sum.backward.grad_voxel_feats, sum.voxel_feats),
              dot(gradients_of(sum.backward), sum.forward.feats));
    const Problem mean = random_problem(MLUOP_REDUCE_DMEAN, random);
    const double magnitude = 1e4 * static_cast<double>(mean.forward.feats.size());
    EXPECT_NEAR(dot(mean.backward.grad_voxel_feats, mean.voxel_feats),
                dot(gradients_of(mean.backward), mean.forward.feats), 1e-6 * magnitude);
  }
}

// The loss of features: the products of the gradients with what the forward operator is by its definition, in
// double.
double loss(const Problem& problem, const std::vector<double>& feats) {
  const DynamicScatterInputs& inputs = problem.backward;
  const auto channels = static_cast<size_t>(inputs.sizes.channels);
  std::vector<double> voxel_feats(inputs.grad_voxel_feats.size(),
                                  inputs.reduce_type == MLUOP_REDUCE_DMAX ? -INFINITY : 0.0);
  for (size_t i = 0; i < feats.size(); ++i) {
    const int32_t voxel = inputs.point2voxel_map[i / channels];
    if (voxel < 0) continue;
    double& value = voxel_feats[static_cast<size_t>(voxel) * channels + i % channels];
    const double count = inputs.voxel_points_count[static_cast<size_t>(voxel)];
    switch (inputs.reduce_type) {
      case MLUOP_REDUCE_DSUM: value += feats[i]; break;
      case MLUOP_REDUCE_DMEAN: value += feats[i] / count; break;
      case MLUOP_REDUCE_DMAX: value = std::max(value, feats[i]); break;
    }
  }
  double sum = 0;
  for (size_t i = 0; i < voxel_feats.size(); ++i) sum += inputs.grad_voxel_feats[i] * voxel_feats[i];
  return sum;
}

TEST(OpsDynamicScatterBackwardProperties, FiniteDifferences) {
  auto random = seeded_random();
  for (const auto reduce_type : kReduceTypes) {
    SCOPED_TRACE(reduce_type);
    Problem problem = random_problem(reduce_type, random);
    // Distinct features: the maximum has a derivative.
    const auto order = random_permutation(static_cast<int>(problem.forward.feats.size()), random);
    for (size_t i = 0; i < order.size(); ++i) problem.forward.feats[i] = static_cast<float>(order[i]);
    problem.backward.feats = problem.forward.feats;
    if (reduce_type == MLUOP_REDUCE_DMAX) {
      const auto counts = problem.backward.voxel_points_count;
      scatter_forward(problem.backward);
      EXPECT_EQ(problem.backward.voxel_points_count, counts);
    }
    const std::vector<float> gradients = gradients_of(problem.backward);
    std::vector<double> feats(problem.forward.feats.begin(), problem.forward.feats.end());
    constexpr double kStep = 0.25;
    for (size_t i = 0; i < feats.size(); i += 1 + feats.size() / 200) {
      const double at = feats[i];
      feats[i] = at + kStep;
      const double above = loss(problem, feats);
      feats[i] = at - kStep;
      const double difference = (above - loss(problem, feats)) / (2 * kStep);
      feats[i] = at;
      EXPECT_NEAR(gradients[i], difference, 1e-4) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace mluop::test
