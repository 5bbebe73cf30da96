// Properties of mluOpOmpVoxelPoolingBackward that need no oracle, with pos_memo of mluOpVoxelPoolingForward.
// Features and gradients are integers: their sums and products are exact in any order.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int kRounds = 8;

// A call of the forward operator, and the integers that its features hold.
struct Problem {
  std::map<std::string, int64_t> sizes;  // of both operators
  Case made;
  std::vector<float> features;
};

Problem random_problem(std::mt19937& random) {
  Problem problem{{{"batch_size", random_size(random, 3)},
                   {"num_points", random_size(random, 900)},
                   {"num_channels", random_size(random, 90)},
                   {"num_voxel_x", random_size(random, 12)},
                   {"num_voxel_y", random_size(random, 12)}},
                  {},
                  {}};
  auto sizes = problem.sizes;
  sizes["num_voxel_z"] = random_size(random, 3);
  problem.made =
      make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT, sizes, static_cast<int32_t>(random() % 1000));
  const auto count = static_cast<size_t>(cases::element_count(problem.made.inputs[1]));
  problem.features = random_integers<float>(count, random, 8);
  set_values(problem.made, "input_features", problem.features);
  return problem;
}

struct Pooled {
  std::vector<float> sums;
  std::vector<int32_t> memo;
};

Pooled forward(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  return {call.floats("output_features"), call.int32s("pos_memo")};
}

std::vector<float> backward(const Problem& problem, mluOpDataType_t dtype, const std::vector<int32_t>& memo,
                            const std::vector<float>& gradient) {
  Case made = make_case("voxel_pooling_backward", dtype, problem.sizes);
  set_values(made, "pos_memo", memo);
  set_values(made, "grad_output_features", gradient);
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.floats("grad_input_features");
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Calls check(problem, data type, random) for random problems in random teams.
void for_each_problem(const std::function<void(Problem&, mluOpDataType_t, std::mt19937&)>& check) {
  auto random = seeded_random();
  for (const auto dtype : kFloatingDtypes) {
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(round);
      Problem problem = random_problem(random);
      const RandomTeam team(random);
      check(problem, dtype, random);
    }
  }
}

// The adjoint of voxel pooling: <forward(x), g> = <x, backward(g)>.
TEST(OpsVoxelPoolingBackwardProperties, Adjoint) {
  for_each_problem([](const Problem& problem, mluOpDataType_t dtype, std::mt19937& random) {
    const Pooled pooled = forward(problem.made);
    const auto gradient = random_integers<float>(pooled.sums.size(), random, 100);
    EXPECT_EQ(dot(pooled.sums, gradient), dot(problem.features, backward(problem, dtype, pooled.memo, gradient)));
  });
}

// Central differences of the loss <forward(x), g>.
TEST(OpsVoxelPoolingBackwardProperties, FiniteDifferences) {
  for_each_problem([](Problem& problem, mluOpDataType_t dtype, std::mt19937& random) {
    const Pooled pooled = forward(problem.made);
    const auto gradient = random_integers<float>(pooled.sums.size(), random, 100);
    const auto grad_input = backward(problem, dtype, pooled.memo, gradient);
    for (int i = 0; i < 20; ++i) {
      const size_t element = random() % problem.features.size();
      SCOPED_TRACE("element " + std::to_string(element));
      const auto loss_after = [&](float step) {
        std::vector<float> features = problem.features;
        features[element] += step;
        set_values(problem.made, "input_features", features);
        return dot(forward(problem.made).sums, gradient);
      };
      constexpr float kStep = 0.5F;
      EXPECT_EQ(grad_input[element], (loss_after(kStep) - loss_after(-kStep)) / (2 * kStep));
    }
  });
}

// A point in range receives the gradient of its voxel, another one 0.
TEST(OpsVoxelPoolingBackwardProperties, ConstantGradientMarksThePointsInRange) {
  for_each_problem([](const Problem& problem, mluOpDataType_t dtype, std::mt19937&) {
    const auto [sums, memo] = forward(problem.made);
    const auto grad_input = backward(problem, dtype, memo, std::vector<float>(sums.size(), 1));
    const size_t channels = grad_input.size() / (memo.size() / 3);
    for (size_t i = 0; i < grad_input.size(); ++i) {
      ASSERT_EQ(grad_input[i], memo[i / channels * 3] < 0 ? 0.0F : 1.0F) << i;
    }
  });
}

}  // namespace
}  // namespace mluop::test
