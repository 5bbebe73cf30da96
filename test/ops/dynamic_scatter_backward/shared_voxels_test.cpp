// mluOpDynamicPointToVoxelBackward in the native algorithm where few voxels have most points: tasks share their
// points, and the first point that has the voxel's value gets the gradient.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/scatter_case.h"
#include "support/call_statistics.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using cases::Case;

// Voxel 7 has all points, or all but one in ten; one point in 100 has no voxel.
Case crowded(const ScatterSizes& sizes, bool all, std::mt19937& random) {
  std::vector<int32_t> map = random_map(sizes, random);
  for (int32_t& voxel : map) {
    if (all || random() % 10 > 0) voxel = random() % 100 == 0 ? -1 : 7;
  }
  return make_scatter(sizes, map, random_feats(sizes, random));
}

void expect_shared(const Oracle& oracle, int task_dim, Placement placement = Placement::kAligned) {
  const ScopedThreads threads(task_dim);
  const Handle handle(MLUOP_OMP_ALGORITHM_NATIVE);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, oracle.made(), placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(oracle.agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
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
      const Case made = crowded({3000, 300, channels, 300}, all, random);
      const Oracle oracle(made);
      for (const int task_dim : {1, 2, 3, 7, 64}) {
        SCOPED_TRACE(std::to_string(channels) + " channels, tasks: " + std::to_string(task_dim));
        for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
          expect_shared(oracle, task_dim, placement);
        }
      }
    }
  }
}

// Buckets of several voxels, two of them crowded, and maxima that many points have.
TEST(OpsDynamicScatterBackwardSharedVoxels, Buckets) {
  auto random = seeded_random();
  constexpr ScatterSizes kBuckets = {50000, 20000, 21, 20000};
  std::vector<int32_t> map = random_map(kBuckets, random);
  for (int32_t& voxel : map) {
    const uint32_t choice = random() % 16;
    if (choice < 15) voxel = choice < 7 ? 19999 : choice < 14 ? 40 : 41;
  }
  const Case made = make_scatter(kBuckets, map, random_feats(kBuckets, random, 3));
  const Oracle oracle(made);
  for (const int task_dim : {1, 4, 7, 64}) expect_shared(oracle, task_dim);
}

// An output large enough for nontemporal stores.
TEST(OpsDynamicScatterBackwardSharedVoxels, StreamedOutput) {
  auto random = seeded_random();
  const Case made = crowded({25000, 12500, 256, 12500}, false, random);
  const Oracle oracle(made);
  for (const int task_dim : {2, 7}) expect_shared(oracle, task_dim);
}

}  // namespace
}  // namespace mluop::test
