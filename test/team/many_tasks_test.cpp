// Teams of 512 tasks, on a thread each and on two threads in turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ops/voxel_pooling_forward/call.h"
#include "support/call_statistics.h"
#include "support/compare.h"
#include "support/random_problem.h"
#include "support/sanitizers.h"
#include "support/trace.h"
#include "team/mixed_calls.h"

namespace mluop::test {
namespace {

constexpr int kManyTasks = kThreadSanitizer ? 64 : 512;

struct Limit {
  const char* max_threads;  // MLUOP_OMP_MAX_THREADS; null: not set
  int threads;              // of the device algorithm
};
const std::string kAllThreads = std::to_string(kManyTasks);
const Limit kLimits[] = {{nullptr, kManyTasks}, {"2", 2}, {kAllThreads.c_str(), kManyTasks}};

// All operators. `threads` is exact unless OMP_THREAD_LIMIT provides fewer.
TEST(TeamManyTasks, AllOperators) {
  const MixedCalls calls;
  const ScopedThreads tasks(kManyTasks);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "64");
  for (const Limit& limit : kLimits) {
    const ScopedEnvironment max_threads("MLUOP_OMP_MAX_THREADS", limit.max_threads);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(limit.threads) + " threads, " + text_of(algorithm));
      const Handle handle(algorithm);
      require(mluOpOmpSetStatistics(handle, 1));
      for (size_t i = 0; i < calls.size(); ++i) {
        EXPECT_TRUE(calls.equals_serial(i, handle)) << "call " << i;
        if (algorithm != MLUOP_OMP_ALGORITHM_DEVICE || calls.is_native_only(i)) continue;
        for (const Launch& launch : launches_of(handle)) {
          EXPECT_EQ(launch.task_dim, kManyTasks) << launch.kernel;
          EXPECT_EQ(launch.threads, std::min(limit.threads, omp_get_thread_limit())) << launch.kernel;
        }
      }
    }
  }
}

// The native algorithm takes 512 tasks for operands that pay for them: 32 KiB a task.
TEST(TeamManyTasks, Native) {
  auto random = seeded_random();
  auto inputs = random_voxel_pooling<float>({1, 1000, 16, 30, 30, 1}, random);
  inputs.sizes.num_points = 60 * kManyTasks;
  inputs.sizes.num_channels = 160;
  while (inputs.geom_xyz.size() < static_cast<size_t>(inputs.sizes.geom_count())) {
    inputs.geom_xyz.push_back(static_cast<int32_t>(random() % 30));
  }
  inputs.input_features = random_integers<float>(static_cast<size_t>(inputs.sizes.input_count()), random, 8);
  const VoxelPoolingOutputs<float> expected = voxel_pooling_reference(inputs);
  const ScopedThreads tasks(kManyTasks);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "64");
  for (const Limit& limit : {kLimits[1], kLimits[2]}) {
    SCOPED_TRACE(limit.max_threads);
    const ScopedEnvironment max_threads("MLUOP_OMP_MAX_THREADS", limit.max_threads);
    const Handle handle;
    require(mluOpOmpSetStatistics(handle, 1));
    const VoxelPoolingCall call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(same_bits(call.outputs().output_features, expected.output_features));
    EXPECT_EQ(call.outputs().pos_memo, expected.pos_memo);
    int most_tasks = 0;
    for (const Launch& launch : launches_of(handle)) {
      most_tasks = std::max(most_tasks, launch.task_dim);
      EXPECT_LE(launch.threads, std::min(limit.threads, omp_get_thread_limit())) << launch.kernel;
    }
    EXPECT_EQ(most_tasks, kManyTasks);
  }
}

}  // namespace
}  // namespace mluop::test
