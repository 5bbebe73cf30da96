// Properties of mluOpThreeInterpolateForward that need no oracle. The property test of the backward operator has
// that both are adjoint.
#include <gtest/gtest.h>

#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

Case random_forward(mluOpDataType_t dtype, std::mt19937& random) {
  return make_case("three_interpolate_forward", dtype,
                   {{"b", random_size(random, 3)},
                    {"c", random_size(random, 80)},
                    {"m", random_size(random, 200)},
                    {"n", random_size(random, 900)}},
                   static_cast<int32_t>(random() % 1000));
}

std::vector<float> forward_of(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.floats("output");
}

// With weights (1, 0, 0) the output is the gathered features.
TEST(OpsThreeInterpolateForwardProperties, UnitWeightsGather) {
  auto random = seeded_random();
  for (int round = 0; round < 16; ++round) {
    SCOPED_TRACE(round);
    Case made = random_forward(kFloatingDtypes[round % 2], random);
    std::vector<float> weights = floats_of(made, "weights");
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 3 == 0 ? 1 : 0;
    set_values(made, "weights", weights);
    const auto C = static_cast<size_t>(made.inputs[0].dims[1]), M = static_cast<size_t>(made.inputs[0].dims[2]);
    const auto N = static_cast<size_t>(made.inputs[1].dims[1]);
    const std::vector<int32_t> indices = int32s_of(made, "indices");
    const std::vector<float> features = floats_of(made, "features");
    std::vector<float> gathered;
    for (size_t row = 0; row < features.size() / M; ++row) {
      for (size_t n = 0; n < N; ++n) {
        gathered.push_back(features[row * M + static_cast<size_t>(indices[(row / C * N + n) * 3])]);
      }
    }
    const RandomTeam team(random);
    EXPECT_EQ(forward_of(made), gathered);
  }
}

// Moves element order[n] of each run of order.size() elements, each `width` wide, to place n.
template <class T>
std::vector<T> permuted_points(const std::vector<T>& elements, size_t width, const std::vector<int32_t>& order) {
  std::vector<T> moved;
  for (size_t run = 0; run < elements.size(); run += order.size() * width) {
    for (const int32_t source : order) {
      const T* from = elements.data() + run + static_cast<size_t>(source) * width;
      moved.insert(moved.end(), from, from + width);
    }
  }
  return moved;
}

// Points in another order have the same results in that order.
TEST(OpsThreeInterpolateForwardProperties, PointsArePermuted) {
  auto random = seeded_random();
  for (int round = 0; round < 16; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_forward(kFloatingDtypes[round % 2], random);
    const auto order = random_permutation(static_cast<int>(made.inputs[1].dims[1]), random);
    Case permuted = made;
    set_values(permuted, "indices", permuted_points(int32s_of(made, "indices"), 3, order));
    set_values(permuted, "weights", permuted_points(floats_of(made, "weights"), 3, order));
    const RandomTeam team(random);
    EXPECT_EQ(forward_of(permuted), permuted_points(forward_of(made), 1, order));
  }
}

}  // namespace
}  // namespace mluop::test
