// mluOpDynamicScatterBackward in the native algorithm where few voxels have most points: tasks share their
// channels, and the first point that has the voxel's value gets the gradient.
#include <gtest/gtest.h>

#include <algorithm>
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
  // A share has at least eight cache lines of a row.
  const auto max_shares = static_cast<int>((inputs.sizes.channels + 15) / 16 / 8);
  const int shares = std::min(launch_of(handle, "match").task_dim, max_shares);
  if (shares > 1) {
    EXPECT_EQ(launch_of(handle, "match_shared").task_dim, shares);
  } else {
    EXPECT_THROW(launch_of(handle, "match_shared"), std::runtime_error);
  }
}

TEST(OpsDynamicScatterBackwardSharedVoxels, FirstMatches) {
  auto random = seeded_random();
  for (const int channels : {1, 16, 17, 64, 131, 263, 400}) {
    for (const bool all : {false, true}) {
      const auto inputs = crowded({3000, 2500, channels, 2500}, all, random);
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

// An output large enough for nontemporal stores.
TEST(OpsDynamicScatterBackwardSharedVoxels, StreamedOutput) {
  auto random = seeded_random();
  const auto inputs = crowded({25000, 12500, 256, 12500}, false, random);
  const auto expected = dynamic_scatter_reference(inputs);
  for (const int task_dim : {2, 7}) expect_output(inputs, expected, task_dim, Placement::kAligned);
}

}  // namespace
}  // namespace mluop::test
