#include "team/launch.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "core/sizes.h"
#include "team/atomics.h"

namespace mluop {
namespace {

// A task should move at least so many bytes: about what a core moves while a team starts and ends, 2 us at
// 16 GB/s. Measured with libgomp on a 2-core server.
constexpr int64_t kTaskBytes = 32 << 10;

// A child process of fork() has none of the threads that libgomp keeps, and a team of several would wait for them.
class ForkGuard {
 public:
  // Called before a team of several threads starts.
  void team_starts() {
    if (!registered_.exchange(true, std::memory_order_relaxed)) pthread_atfork(nullptr, nullptr, enter_child);
  }
  // Whether this process is the child of one that has started such a team.
  bool in_child() const { return in_child_.load(std::memory_order_relaxed); }

 private:
  static void enter_child();

  std::atomic<bool> registered_{false};
  std::atomic<bool> in_child_{false};
};

ForkGuard fork_guard;

void ForkGuard::enter_child() { fork_guard.in_child_.store(true, std::memory_order_relaxed); }

// What a launch has in common for its tasks.
struct Team {
  Context& context;
  int task_dim;
  void (*body)(const void* state, Task& task);
  const void* state;

  // Runs the tasks of one of `threads` threads.
  void run_thread(int thread, int threads) const {
    for (int id = thread; id < task_dim; id += threads) {
      Task task{id, task_dim, context.nram(thread)};
      body(state, task);
    }
  }
};

}  // namespace

int choose_task_dim(int64_t items, int64_t bytes) {
  const int64_t max = std::min(items, ceil_div(bytes, kTaskBytes));
  return static_cast<int>(std::clamp<int64_t>(max, 1, omp_get_max_threads()));
}

int64_t ChunkCounter::next() { return atomic_next(&next_); }

void run_team(Context& context, int task_dim, void (*body)(const void* state, Task& task), const void* state) {
  const Team team{context, task_dim, body, state};
  // At most as many threads as processors: more would wait for their turn at each launch.
  const int max_threads = context.thread_count(task_dim);
  context.last_launch = {task_dim, 1};
  if (max_threads == 1 || fork_guard.in_child()) {
    team.run_thread(0, 1);
    return;
  }
  fork_guard.team_starts();
  std::exception_ptr failure;
#pragma omp parallel num_threads(max_threads)
  {
    const int thread = omp_get_thread_num();
    const int threads = omp_get_num_threads();
    if (thread == 0) context.last_launch.threads = threads;
    try {
      team.run_thread(thread, threads);
    } catch (...) {
#pragma omp critical(mluop_task_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mluop
