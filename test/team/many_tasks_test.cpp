// Teams of 512 tasks, on a thread each and on two threads in turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
#include "support/trace.h"
#include "support/values.h"
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
        if (algorithm != MLUOP_OMP_ALGORITHM_DEVICE || !calls.op(i).has_device_algorithm) continue;
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
  const cases::Case made = make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                     {{"batch_size", 1},
                                      {"num_points", 60 * kManyTasks},
                                      {"num_channels", 160},
                                      {"num_voxel_x", 30},
                                      {"num_voxel_y", 30}});
  const SolvedCase problem = solve(with_values(made, Values::kIntegers, 1));
  const ScopedThreads tasks(kManyTasks);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "64");
  for (const Limit& limit : {kLimits[1], kLimits[2]}) {
    SCOPED_TRACE(limit.max_threads);
    const ScopedEnvironment max_threads("MLUOP_OMP_MAX_THREADS", limit.max_threads);
    const Handle handle;
    require(mluOpOmpSetStatistics(handle, 1));
    ASSERT_TRUE(problem.solved_by(handle)) << mluOpOmpGetLastError();
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
