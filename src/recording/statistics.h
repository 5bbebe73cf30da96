// Statistics of a call: its launches, and the tasks of each launch. Recorded only if enabled. A launch allocates
// its record before it starts, and is not recorded if that fails.
#pragma once

#include <chrono>
#include <vector>

#include "mlu_op_omp.h"

namespace mluop {

using TaskStatistics = mluOpOmpTaskStatistics_t;

struct LaunchStatistics {
  mluOpOmpLaunchStatistics_t launch;
  std::vector<TaskStatistics> tasks;  // [task_dim]
};

class CallStatistics {
 public:
  bool enabled() const { return enabled_; }
  void enable(bool enabled);

  // Forgets the previous call and frees its records.
  void release_memory();
  // Forgets the previous call.
  void begin_call();
  // The record of a new launch; null if statistics are disabled or memory runs out.
  LaunchStatistics* begin_launch(const char* kernel, int task_dim) noexcept;
  // Microseconds since begin_call().
  double now_us() const;
  double call_start_us() const;  // since the epoch of the clock

  const std::vector<LaunchStatistics>& launches() const { return launches_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_ = false;
  Clock::time_point call_start_;
  std::vector<LaunchStatistics> launches_;
};

}  // namespace mluop
