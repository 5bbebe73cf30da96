// The algorithm of a handle, and the statistics of its last call.
#include <gtest/gtest.h>

#include <cstdint>

#include "mlu_op_omp.h"
#include "ops/voxel_pooling_forward/call.h"
#include "support/api.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

mluOpOmpAlgorithm_t algorithm_of(mluOpHandle_t handle) {
  auto algorithm = MLUOP_OMP_ALGORITHM_NATIVE;
  require(mluOpOmpGetAlgorithm(handle, &algorithm));
  return algorithm;
}

TEST(ApiAlgorithm, IsThatOfTheEnvironmentUntilSet) {
  const ScopedEnvironment variable("MLUOP_OMP_ALGORITHM", "device");
  mluOpHandle_t handle = nullptr;
  require(mluOpCreate(&handle));
  EXPECT_EQ(algorithm_of(handle), MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetAlgorithm(handle, MLUOP_OMP_ALGORITHM_NATIVE));
  EXPECT_EQ(algorithm_of(handle), MLUOP_OMP_ALGORITHM_NATIVE);
  require(mluOpUpdateContextInformation(handle));
  EXPECT_EQ(algorithm_of(handle), MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpDestroy(handle));
}

TEST(ApiAlgorithm, Errors) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  auto algorithm = MLUOP_OMP_ALGORITHM_NATIVE;
  expect_errors({
      {[&] { return mluOpOmpSetAlgorithm(nullptr, algorithm); }, "[mluOpOmpSetAlgorithm] handle is null"},
      {[&] { return mluOpOmpGetAlgorithm(nullptr, &algorithm); }, "[mluOpOmpGetAlgorithm] handle is null"},
      {[&] { return mluOpOmpGetAlgorithm(handle, nullptr); }, "[mluOpOmpGetAlgorithm] algorithm is null"},
  });
  EXPECT_EQ(algorithm_of(handle), MLUOP_OMP_ALGORITHM_DEVICE);
}

int launch_count(mluOpHandle_t handle) {
  int count = -1;
  require(mluOpOmpGetLaunchCount(handle, &count));
  return count;
}

TEST(ApiStatistics, OfTheLastCallWhileEnabled) {
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling({1, 10, 3, 2, 2, 1}, random);
  const Handle handle;
  require(VoxelPoolingCall(handle, inputs).run());
  EXPECT_EQ(launch_count(handle), 0);
  require(mluOpOmpSetStatistics(handle, 1));
  require(VoxelPoolingCall(handle, inputs).run());
  const int count = launch_count(handle);
  ASSERT_GT(count, 0);
  for (int i = 0; i < count; ++i) {
    mluOpOmpLaunchStatistics_t launch;
    require(mluOpOmpGetLaunchStatistics(handle, i, &launch));
    EXPECT_NE(launch.kernel, nullptr);
    EXPECT_GT(launch.threads, 0);
    int64_t next_item = 0;
    for (int task = 0; task < launch.task_dim; ++task) {
      mluOpOmpTaskStatistics_t statistics;
      require(mluOpOmpGetTaskStatistics(handle, i, task, &statistics));
      EXPECT_GE(statistics.item_count, 0);
      next_item += statistics.item_count;
    }
    EXPECT_GT(next_item, 0) << launch.kernel;
  }
  require(mluOpOmpSetStatistics(handle, 0));
  require(VoxelPoolingCall(handle, inputs).run());
  EXPECT_EQ(launch_count(handle), 0);
}

TEST(ApiStatistics, Errors) {
  const Handle handle;
  int count = 7;
  mluOpOmpLaunchStatistics_t launch;
  mluOpOmpTaskStatistics_t task;
  expect_errors({
      {[&] { return mluOpOmpSetStatistics(nullptr, 1); }, "[mluOpOmpSetStatistics] handle is null"},
      {[&] { return mluOpOmpSetStatistics(handle, 2); }, "[mluOpOmpSetStatistics] enabled is 2, expected 0 or 1"},
      {[&] { return mluOpOmpGetLaunchCount(nullptr, &count); }, "[mluOpOmpGetLaunchCount] handle is null"},
      {[&] { return mluOpOmpGetLaunchCount(handle, nullptr); }, "[mluOpOmpGetLaunchCount] count is null"},
      {[&] { return mluOpOmpGetLaunchStatistics(handle, 0, nullptr); },
       "[mluOpOmpGetLaunchStatistics] statistics is null"},
      {[&] { return mluOpOmpGetLaunchStatistics(handle, 0, &launch); },
       "[mluOpOmpGetLaunchStatistics] launch is 0, expected 0 or more and less than 0"},
      {[&] { return mluOpOmpGetTaskStatistics(handle, -1, 0, &task); },
       "[mluOpOmpGetTaskStatistics] launch is -1, expected 0 or more and less than 0"},
  });
  EXPECT_EQ(count, 7);
}

}  // namespace
}  // namespace mluop::test
