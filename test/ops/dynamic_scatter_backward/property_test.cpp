// Properties of mluOpDynamicPointToVoxelBackward that need no oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/scatter_case.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

// One channel of a voxel in ten is NaN, which no point equals. Gradients are integers other than 0: their sums are
// exact, and an element of grad_feats that is not 0 has received a gradient.
Case random_maxima(std::mt19937& random) {
  const int points = random_size(random, 900), voxels = random_size(random, points);
  const int voxel_num = random_size(random, voxels);
  Case made = random_scatter({points, voxels, random_size(random, 70), voxel_num}, random);
  std::vector<float> gradients = floats_of(made, "grad_voxel_feats"), maxima = floats_of(made, "voxel_feats");
  for (float& gradient : gradients) gradient = static_cast<float>(1 + random() % 1000);
  for (float& maximum : maxima) {
    if (random() % 10 == 0) maximum = kNan;
  }
  set_values(made, "grad_voxel_feats", gradients);
  set_values(made, "voxel_feats", maxima);
  return made;
}

// Each channel of a voxel reaches one point of that voxel, with its gradient, if the voxel has points and the
// channel is not NaN; else none. Points without voxel receive nothing. So gradients are conserved.
TEST(OpsDynamicScatterBackwardProperties, AGradientReachesOnePoint) {
  auto random = seeded_random();
  for (int round = 0; round < 8; ++round) {
    const Case made = random_maxima(random);
    const auto channels = static_cast<size_t>(made.inputs[1].dims[1]);
    const std::vector<float> feats = floats_of(made, "feats"), maxima = floats_of(made, "voxel_feats");
    const std::vector<float> gradients = floats_of(made, "grad_voxel_feats");
    const std::vector<int32_t> map = int32s_of(made, "point2voxel_map");
    const std::vector<int32_t> points_count = int32s_of(made, "voxel_points_count");
    double expected_sum = 0;
    std::vector<int> expected_count(maxima.size());
    for (size_t i = 0; i < maxima.size(); ++i) {
      if (points_count[i / channels] == 0 || std::isnan(maxima[i])) continue;
      expected_sum += gradients[i];
      expected_count[i] = 1;
    }
    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      require(call.run());
      EXPECT_TRUE(call.intact());
      const std::vector<float> grad_feats = call.floats("grad_feats");
      double sum = 0;
      std::vector<int> count(expected_count.size());
      for (size_t i = 0; i < grad_feats.size(); ++i) {
        sum += grad_feats[i];
        if (grad_feats[i] == 0) continue;
        const int32_t voxel = map[i / channels];
        ASSERT_GE(voxel, 0) << "element " << i;
        const size_t source = static_cast<size_t>(voxel) * channels + i % channels;
        ++count[source];
        ASSERT_EQ(grad_feats[i], gradients[source]) << "element " << i;
        ASSERT_EQ(feats[i], maxima[source]) << "element " << i;
      }
      EXPECT_EQ(count, expected_count);
      EXPECT_EQ(sum, expected_sum);
    }
  }
}

// Forward and backward of one problem.
struct Problem {
  mluOpReduceMode_t reduce_type;
  std::vector<float> feats, voxel_feats, gradients;  // gradients of the voxels
  std::vector<int32_t> map, counts;
  Case backward;
  size_t channels() const { return feats.size() / map.size(); }
};

// Gradients are integers. So are features, which are distinct for a derivative of the maximum.
Problem random_problem(mluOpReduceMode_t reduce_type, bool distinct, std::mt19937& random) {
  const int points = random_size(random, 700), channels = random_size(random, 40);
  const auto elements = static_cast<size_t>(points * channels);
  Case forward =
      make_case("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT,
                {{"n", points}, {"c", channels}, {"grid", 6}, {"reduce_type", reduce_type}}, points + channels);
  Problem problem{reduce_type, random_integers<float>(elements, random, 100), {}, {}, {}, {}, {}};
  if (distinct) {
    const auto order = random_permutation(points * channels, random);
    problem.feats.assign(order.begin(), order.end());
  }
  set_values(forward, "feats", problem.feats);
  const Handle handle;
  const OperatorCall call(handle, forward);
  require(call.run());
  const int32_t voxels = call.int32s("voxel_num")[0];
  problem.voxel_feats = call.floats("voxel_feats");
  problem.voxel_feats.resize(static_cast<size_t>(voxels * channels));
  problem.map = call.int32s("point2voxel_map");
  problem.counts = call.int32s("voxel_points_count");
  problem.counts.resize(static_cast<size_t>(voxels));
  problem.gradients = random_integers<float>(problem.voxel_feats.size(), random, 100);
  problem.backward = make_scatter({points, voxels, channels, voxels}, problem.map, problem.feats);
  EXPECT_EQ(int32s_of(problem.backward, "voxel_points_count"), problem.counts);
  problem.backward.parameters.set("reduce_type", reduce_type);
  set_values(problem.backward, "voxel_feats", problem.voxel_feats);
  set_values(problem.backward, "grad_voxel_feats", problem.gradients);
  return problem;
}

std::vector<float> gradients_of(const Problem& problem) {
  const Handle handle;
  const OperatorCall call(handle, problem.backward);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.floats("grad_feats");
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
    const Problem sum = random_problem(MLUOP_REDUCE_DSUM, false, random);
    EXPECT_EQ(dot(sum.gradients, sum.voxel_feats), dot(gradients_of(sum), sum.feats));
    const Problem mean = random_problem(MLUOP_REDUCE_DMEAN, false, random);
    const double magnitude = 1e4 * static_cast<double>(mean.feats.size());
    EXPECT_NEAR(dot(mean.gradients, mean.voxel_feats), dot(gradients_of(mean), mean.feats), 1e-6 * magnitude);
  }
}

// The loss of features: the products of the gradients with what the forward operator is by its definition, in
// double.
double loss(const Problem& problem, const std::vector<double>& feats) {
  const size_t channels = problem.channels();
  const bool is_max = problem.reduce_type == MLUOP_REDUCE_DMAX;
  std::vector<double> voxel_feats(problem.gradients.size(), is_max ? -INFINITY : 0.0);
  for (size_t i = 0; i < feats.size(); ++i) {
    if (problem.map[i / channels] < 0) continue;
    const auto voxel = static_cast<size_t>(problem.map[i / channels]);
    double& value = voxel_feats[voxel * channels + i % channels];
    switch (problem.reduce_type) {
      case MLUOP_REDUCE_DSUM: value += feats[i]; break;
      case MLUOP_REDUCE_DMEAN: value += feats[i] / problem.counts[voxel]; break;
      case MLUOP_REDUCE_DMAX: value = std::max(value, feats[i]); break;
    }
  }
  double sum = 0;
  for (size_t i = 0; i < voxel_feats.size(); ++i) sum += problem.gradients[i] * voxel_feats[i];
  return sum;
}

TEST(OpsDynamicScatterBackwardProperties, FiniteDifferences) {
  auto random = seeded_random();
  for (const auto reduce_type : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) {
    SCOPED_TRACE(reduce_type);
    const Problem problem = random_problem(reduce_type, true, random);
    const std::vector<float> gradients = gradients_of(problem);
    std::vector<double> feats(problem.feats.begin(), problem.feats.end());
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
