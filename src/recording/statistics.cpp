#include "recording/statistics.h"

#include <new>

namespace mluop {

void CallStatistics::enable(bool enabled) {
  enabled_ = enabled;
  launches_.clear();
}

void CallStatistics::release_memory() { launches_ = {}; }

void CallStatistics::begin_call() {
  if (!enabled_) return;
  launches_.clear();
  call_start_ = Clock::now();
}

LaunchStatistics* CallStatistics::begin_launch(const char* kernel, int task_dim) noexcept {
  if (!enabled_) return nullptr;
  try {
    LaunchStatistics launch{{kernel, task_dim, 1, 0, 0},
                            std::vector<TaskStatistics>(static_cast<size_t>(task_dim))};
    launches_.push_back(std::move(launch));
    return &launches_.back();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

double CallStatistics::now_us() const {
  return std::chrono::duration<double, std::micro>(Clock::now() - call_start_).count();
}

double CallStatistics::call_start_us() const {
  return std::chrono::duration<double, std::micro>(call_start_.time_since_epoch()).count();
}

}  // namespace mluop
