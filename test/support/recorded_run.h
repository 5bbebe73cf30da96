// Runs with statistics.
#pragma once

#include <string>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/operator_call.h"

namespace mluop::test {

// The launches of a call, which must have the outputs of the oracle.
inline std::vector<Launch> run_recorded(const Oracle& oracle, mluOpOmpAlgorithm_t algorithm,
                                        Placement placement = Placement::kAligned) {
  const Handle handle(algorithm);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, oracle.made(), placement);
  require(call.run());
  EXPECT_TRUE(oracle.agrees(call, algorithm));
  EXPECT_TRUE(call.intact());
  return launches_of(handle);
}

// The same with `thread_count` threads.
inline std::vector<Launch> run_recorded(const Oracle& oracle, mluOpOmpAlgorithm_t algorithm, int thread_count) {
  const ScopedThreads threads(thread_count);
  return run_recorded(oracle, algorithm);
}

// Runs the native algorithm of a case with keys that tasks share: the kernel `shared` has the same number of tasks
// as `kernel`; it is not launched for one task.
inline void expect_shared(const Oracle& oracle, const std::string& kernel, const std::string& shared,
                          Placement placement = Placement::kAligned) {
  const std::vector<Launch> launches = run_recorded(oracle, MLUOP_OMP_ALGORITHM_NATIVE, placement);
  const auto tasks_of = [&](const std::string& name) {
    int tasks = 0;
    for (const Launch& launch : launches) tasks += launch.kernel == name ? launch.task_dim : 0;
    return tasks;
  };
  const int tasks = tasks_of(kernel);
  EXPECT_GT(tasks, 0) << kernel;
  EXPECT_EQ(tasks_of(shared), tasks > 1 ? tasks : 0);
}

}  // namespace mluop::test
