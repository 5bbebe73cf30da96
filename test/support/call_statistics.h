// The statistics of a handle's last call, as the API reports them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/api.h"
#include "support/operator_call.h"

namespace mluop::test {

struct Launch : mluOpOmpLaunchStatistics_t {
  std::vector<mluOpOmpTaskStatistics_t> tasks;  // [task_dim]
};

// The launches of the last call.
inline std::vector<Launch> launches_of(mluOpHandle_t handle) {
  int count = -1;
  require(mluOpOmpGetLaunchCount(handle, &count));
  std::vector<Launch> launches(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Launch& launch = launches[static_cast<size_t>(i)];
    require(mluOpOmpGetLaunchStatistics(handle, i, &launch));
    launch.tasks.resize(static_cast<size_t>(launch.task_dim));
    for (int id = 0; id < launch.task_dim; ++id) {
      require(mluOpOmpGetTaskStatistics(handle, i, id, &launch.tasks[static_cast<size_t>(id)]));
    }
  }
  return launches;
}

// Runs a case against the oracle, and checks that a launch of its call has this kernel.
inline void expect_kernel(const cases::Case& made, std::string_view kernel) {
  const Handle handle;
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(
      std::ranges::any_of(launches_of(handle), [&](const Launch& launch) { return launch.kernel == kernel; }));
  expect_oracle(made);
}

// Checks the launches of a call: their kernels, in order, and that each had `task_dim` tasks.
inline void expect_launches(const std::vector<Launch>& launches, const std::vector<std::string>& kernels,
                            int task_dim) {
  ASSERT_EQ(launches.size(), kernels.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    EXPECT_EQ(launches[i].kernel, kernels[i]);
    EXPECT_EQ(launches[i].task_dim, task_dim);
  }
}

}  // namespace mluop::test
