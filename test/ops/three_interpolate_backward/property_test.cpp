// A property of mluOpThreeInterpolateBackward that needs no oracle. Gradients, weights and features are integers
// small enough that fp32 and half represent all sums.
#include <gtest/gtest.h>

#include <numeric>

#include "ops/three_interpolate_backward/sizes.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

using cases::Case;

// <forward(f), g> = <f, backward(g)>.
TEST(OpsThreeInterpolateBackwardProperties, IsTheAdjointOfTheForwardOperator) {
  auto random = seeded_random();
  const auto integers = [&](const std::vector<float>& like, int limit) {
    return random_integers<float>(like.size(), random, limit);
  };
  for (int round = 0; round < 16; ++round) {
    const mluOpDataType_t dtype = kFloatingDtypes[round % 2];
    // Sums have at most 3 N products of magnitude 4. Half represents the integers up to 2048.
    const int max_points = dtype == MLUOP_DTYPE_HALF ? 170 : 900;
    Case backward = make_backward(dtype, {random_size(random, 3), random_size(random, 80),
                                          random_size(random, max_points), random_size(random, 200)});
    set_values(backward, "grad_output", integers(floats_of(backward, "grad_output"), 2));
    set_values(backward, "weights", integers(floats_of(backward, "weights"), 2));
    const std::vector<float> gradients = floats_of(backward, "grad_output");

    const cases::Dims& dims = backward.outputs[0].dims;
    Case forward = make_case("three_interpolate_forward", dtype,
                             {{"b", dims[0]}, {"c", dims[1]}, {"m", dims[2]}, {"n", backward.inputs[0].dims[2]}});
    set_values(forward, "features", integers(floats_of(forward, "features"), 100));
    set_values(forward, "indices", int32s_of(backward, "indices"));
    set_values(forward, "weights", floats_of(backward, "weights"));
    const std::vector<float> features = floats_of(forward, "features");

    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall interpolation(handle, forward);
      require(interpolation.run());
      const std::vector<float> output = interpolation.floats("output");
      const std::vector<float> grad_features = backward_of(backward, algorithm);
      EXPECT_EQ(std::inner_product(output.begin(), output.end(), gradients.begin(), 0.0),
                std::inner_product(features.begin(), features.end(), grad_features.begin(), 0.0));
    }
  }
}

}  // namespace
}  // namespace mluop::test
