#include "team/launch.h"

#include <omp.h>

#include <algorithm>

#include "core/sizes.h"

namespace mluop {
namespace {

// A task should move at least so many bytes: about what a core moves while a team starts and ends, 2 us at
// 16 GB/s. Measured with libgomp on a 2-core server.
constexpr int64_t kTaskBytes = 32 << 10;

}  // namespace

int choose_task_dim(int64_t items, int64_t bytes) {
  const int64_t most = std::min(items, ceil_div(bytes, kTaskBytes));
  return static_cast<int>(std::clamp<int64_t>(most, 1, omp_get_max_threads()));
}

void run_team(Context& context, int task_dim, void (*body)(const void* state, Task& task), const void* state) {
  context.reserve_nram(task_dim);
  context.last_launch = {task_dim, 1};
  if (task_dim == 1) {
    Task task{0, 1, context.nram(0)};
    body(state, task);
    return;
  }
  // Not more than there are cores: threads that wait for their turn on one would make each launch wait as well.
#pragma omp parallel num_threads(context.threads_of(task_dim))
  {
    const int thread = omp_get_thread_num();
    const int threads = omp_get_num_threads();
    if (thread == 0) context.last_launch.threads = threads;
    for (int id = thread; id < task_dim; id += threads) {
      Task task{id, task_dim, context.nram(thread)};
      body(state, task);
    }
  }
}

}  // namespace mluop
