// mluOpDynamicScatterBackward in the native algorithm where few voxels have most points: tasks share their
// points, and the first point that has the voxel's value gets the gradient.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/call.h"
#include "support/call_statistics.h"
#include "support/compare.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

// Voxel 7 has all points, or all but one in ten; one point in 100 has no voxel.
DynamicScatterInputs crowded(const DynamicScatterSizes& sizes, bool all, std::mt19937& random) {
  auto inputs = random_dynamic_scatter(sizes, random);
  for (int32_t& voxel : inputs.point2voxel_map) {
    if (all || random() % 10 > 0) voxel = random() % 100 == 0 ? -1 : 7;
  }
  scatter_forward(inputs);
  return inputs;
}

void expect_output(const DynamicScatterInputs& inputs, const std::vector<float>& expected, int task_dim,
                   Placement placement) {
  const ScopedThreads threads(task_dim);
  const Handle handle(MLUOP_OMP_ALGORITHM_NATIVE);
  require(mluOpOmpSetStatistics(handle, 1));
  const DynamicScatterCall call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(same_bits(call.output(), expected));
  EXPECT_TRUE(call.intact());
  const int match_task_dim = launch_of(handle, "match").task_dim;
  if (match_task_dim > 1) {
    EXPECT_EQ(launch_of(handle, "claim_shared").task_dim, match_task_dim);
  } else {
    EXPECT_THROW(launch_of(handle, "claim_shared"), std::runtime_error);
  }
}

TEST(OpsDynamicScatterBackwardSharedVoxels, FirstMatches) {
  auto random = seeded_random();
  for (const int channels : {1, 16, 17, 64, 131}) {
    for (const bool all : {false, true}) {
      const auto inputs = crowded({3000, 300, channels, 300}, all, random);
      const auto expected = dynamic_scatter_reference(inputs);
      for (const int task_dim : {1, 2, 3, 7, 64}) {
        SCOPED_TRACE(std::to_string(channels) + " channels, tasks: " + std::to_string(task_dim));
        for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
          expect_output(inputs, expected, task_dim, placement);
        }
      }
    }
  }
}

// Buckets of several voxels, two of them crowded, and maxima that many points have.
TEST(OpsDynamicScatterBackwardSharedVoxels, Buckets) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter({50000, 20000, 21, 20000}, random);
  for (int32_t& voxel : inputs.point2voxel_map) {
    const uint32_t choice = random() % 16;
    if (choice < 15) voxel = choice < 7 ? 19999 : choice < 14 ? 40 : 41;
  }
  for (float& feature : inputs.feats) feature = static_cast<float>(random() % 3);
  scatter_forward(inputs);
  const auto expected = dynamic_scatter_reference(inputs);
  for (const int task_dim : {1, 4, 7, 64}) expect_output(inputs, expected, task_dim, Placement::kAligned);
}

// An output large enough for nontemporal stores.
TEST(OpsDynamicScatterBackwardSharedVoxels, StreamedOutput) {
  auto random = seeded_random();
  const auto inputs = crowded({25000, 12500, 256, 12500}, false, random);
  const auto expected = dynamic_scatter_reference(inputs);
  for (const int task_dim : {2, 7}) expect_output(inputs, expected, task_dim, Placement::kAligned);
}

}  // namespace
}  // namespace mluop::test
