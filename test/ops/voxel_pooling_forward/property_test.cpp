// Properties of mluOpVoxelPoolingForward that need no oracle. Features are integers: their sums are exact in any
// order.
#include <gtest/gtest.h>

#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int kRounds = 8;

Case random_problem(std::mt19937& random, mluOpDataType_t dtype) {
  const Case made = make_case("voxel_pooling_forward", dtype,
                              {{"batch_size", random_size(random, 3)},
                               {"num_points", random_size(random, 900)},
                               {"num_channels", random_size(random, 90)},
                               {"num_voxel_x", random_size(random, 12)},
                               {"num_voxel_y", random_size(random, 12)},
                               {"num_voxel_z", random_size(random, 3)}},
                              static_cast<int32_t>(random() % 1000));
  return with_values(made, Values::kIntegers, 1);
}

// Moves row order[p] of each batch to row p.
template <class T>
std::vector<T> permuted(const std::vector<T>& rows, size_t width, const std::vector<int32_t>& order) {
  std::vector<T> moved;
  for (size_t batch = 0; batch < rows.size(); batch += order.size() * width) {
    for (const int32_t source : order) {
      const T* row = rows.data() + batch + static_cast<size_t>(source) * width;
      moved.insert(moved.end(), row, row + width);
    }
  }
  return moved;
}

TEST(OpsVoxelPoolingForwardProperties, APermutationOfPointsLeavesTheSums) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    const Case made = random_problem(random, kFloatingDtypes[round % 2]);
    const auto order = random_permutation(made.parameters.int32("num_points"), random);
    Case moved = made;
    set_values(moved, "geom_xyz", permuted(int32s_of(made, "geom_xyz"), 3, order));
    set_values(moved, "input_features",
               permuted(floats_of(made, "input_features"), static_cast<size_t>(made.inputs[1].dims[2]), order));
    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall before(handle, made), after(handle, moved);
      require(before.run());
      require(after.run());
      EXPECT_EQ(after.floats("output_features"), before.floats("output_features"));
      EXPECT_EQ(after.int32s("pos_memo"), permuted(before.int32s("pos_memo"), 3, order));
    }
  }
}

// The sum of each channel of a batch over all cells is that over its points in range, as pos_memo names them.
TEST(OpsVoxelPoolingForwardProperties, SumsAreConserved) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    const Case made = random_problem(random, kFloatingDtypes[round % 2]);
    const auto batches = static_cast<size_t>(made.inputs[1].dims[0]);
    const auto channels = static_cast<size_t>(made.inputs[1].dims[2]);
    const std::vector<float> features = floats_of(made, "input_features");
    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      require(call.run());
      const std::vector<int32_t> memo = call.int32s("pos_memo");
      std::vector<double> expected(batches * channels), sums(expected.size());
      for (size_t i = 0; i < features.size(); ++i) {
        const int32_t batch = memo[i / channels * 3];
        if (batch >= 0) expected[static_cast<size_t>(batch) * channels + i % channels] += features[i];
      }
      const std::vector<float> found = call.floats("output_features");
      for (size_t i = 0; i < found.size(); ++i) {
        sums[i / (found.size() / batches) * channels + i % channels] += found[i];
      }
      EXPECT_EQ(sums, expected);
    }
  }
}

}  // namespace
}  // namespace mluop::test
