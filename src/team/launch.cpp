#include "team/launch.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "core/float_environment.h"
#include "core/sizes.h"
#include "team/atomics.h"
#include "team/startable_threads.h"

namespace mluop {
namespace {

// Minimum bytes of memory traffic for a task: about the traffic of a core while a team starts and ends, 2 us at 16
// GB/s. Measured with libgomp on a 2-core server.
constexpr int64_t kTaskBytes = 32 << 10;

// A child process of fork() lacks libgomp's pool threads; a team of several threads would hang.
class ForkGuard {
 public:
  // Call it before a team of several threads starts. Returns whether the team may start: not without memory for
  // the handler that marks a child process.
  bool team_starts() {
    if (registered_.load(std::memory_order_relaxed)) return true;
    // Two threads that get here at the same time register the handler twice, which is harmless.
    if (pthread_atfork(nullptr, nullptr, enter_child) != 0) return false;
    registered_.store(true, std::memory_order_relaxed);
    return true;
  }
  // Whether this process was forked from a process that has started such a team.
  bool in_child() const { return in_child_.load(std::memory_order_relaxed); }

 private:
  static void enter_child();

  std::atomic<bool> registered_{false};
  std::atomic<bool> in_child_{false};
};

ForkGuard fork_guard;

void ForkGuard::enter_child() { fork_guard.in_child_.store(true, std::memory_order_relaxed); }

// Shared by the tasks of a launch.
struct Team {
  Context& context;
  int task_dim;
  void (*body)(const void* state, Task& task);
  const void* state;
  LaunchStatistics* record;  // null: not recorded

  // Runs the tasks of one of `threads` threads, in the default floating-point environment.
  void run_thread(int thread, int threads) const {
    const ScopedFloatEnvironment default_environment;
    for (int id = thread; id < task_dim; id += threads) {
      TaskStatistics discarded{};
      Task task{id, task_dim, context.nram(thread),
                record == nullptr ? &discarded : &record->tasks[static_cast<size_t>(id)],
                record == nullptr ? nullptr : &context.statistics};
      if (record == nullptr) {
        body(state, task);
      } else {
        run_recorded(task, thread);
      }
      task.nram.release();
    }
  }

  void run_recorded(Task& task, int thread) const {
    TaskStatistics& statistics = *task.statistics;
    statistics.thread = thread;
    statistics.start_us = context.statistics.now_us();
    body(state, task);
    statistics.duration_us = context.statistics.now_us() - statistics.start_us;
    statistics.nram_bytes = std::max(statistics.nram_bytes, static_cast<int64_t>(task.nram.used()));
  }
};

// Runs the team and returns the number of threads.
int run_threads(const Team& team, int max_threads) {
  if (max_threads == 1 || fork_guard.in_child()) {
    team.run_thread(0, 1);
    return 1;
  }
  // Threads that OpenMP starts inherit the floating-point environment of the caller, as in the caller's own
  // parallel regions.
  const ScopedFloatEnvironment inherited(team.context.caller_environment);
  const int startable = startable_threads(max_threads);
  if (startable == 1 || !fork_guard.team_starts()) {
    team.run_thread(0, 1);
    return 1;
  }
  std::exception_ptr failure;  // exception of the first task that failed
  std::atomic<bool> failed{false};
  int started = 1;
#pragma omp parallel num_threads(startable)
  {
    const int thread = omp_get_thread_num();
    const int threads = omp_get_num_threads();
    if (thread == 0) started = threads;
    try {
      team.run_thread(thread, threads);
    } catch (...) {
      if (!failed.exchange(true, std::memory_order_relaxed)) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return started;
}

}  // namespace

int choose_task_dim(int64_t items, int64_t bytes) {
  const int64_t max = std::min(items, ceil_div(bytes, kTaskBytes));
  return static_cast<int>(std::clamp<int64_t>(max, 1, omp_get_max_threads()));
}

int device_task_dim() { return omp_get_max_threads(); }

int task_dim_of(const Context& context, int64_t items, int64_t bytes) {
  return context.algorithm == MLUOP_OMP_ALGORITHM_DEVICE ? device_task_dim() : choose_task_dim(items, bytes);
}

int64_t ChunkCounter::next() { return atomic_next(&next_); }

void run_team(Context& context, const char* kernel, int task_dim, void (*body)(const void* state, Task& task),
              const void* state) {
  LaunchStatistics* const record = context.statistics.begin_launch(kernel, task_dim);
  if (record != nullptr) record->launch.start_us = context.statistics.now_us();
  context.last_launch = {task_dim, 1};
  context.last_launch.threads =
      run_threads({context, task_dim, body, state, record}, context.thread_count(task_dim));
  if (record == nullptr) return;
  record->launch.threads = context.last_launch.threads;
  record->launch.duration_us = context.statistics.now_us() - record->launch.start_us;
}

}  // namespace mluop
