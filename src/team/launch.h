// Launches: range kernels run as the tasks of a team. All parallel execution goes through launches.
//
// A kernel is a function kernel(args, begin, end, task): it processes the work items [begin, end) and takes its
// tile from task.nram. It does not allocate, log or touch OpenMP. The tasks of a launch may run one after another
// on one thread, so a kernel must not wait for another task. It may hold a lock of team/atomics.h for a bounded
// number of instructions; a holder must not take a second lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/arena.h"
#include "core/dtype.h"
#include "recording/statistics.h"
#include "team/context.h"
#include "team/split.h"

namespace mluop {

struct Task {
  int taskId;
  int taskDim;
  Arena nram;
  TaskStatistics* statistics;   // of this task; recorded if the statistics of the handle are enabled
  const CallStatistics* clock;  // null: not enabled
};

template <class Args>
using RangeKernel = void (*)(const Args& args, int64_t begin, int64_t end, Task& task);

// For kernels with a function for each instruction set in Highway's per-target namespace. Outside this namespace,
// under HWY_ONCE, defines KERNEL(), which returns the function for the selected instruction set.
#define MLUOP_EXPORT_KERNEL(KERNEL, FUNCTION, ARGS)               \
  HWY_EXPORT(FUNCTION);                                           \
  RangeKernel<ARGS> KERNEL() { return MLUOP_DISPATCH(FUNCTION); } \
  static_assert(true, "a semicolon follows")

// The same for a template FUNCTION<T> and KERNEL(dtype). MLUOP_SELECT_BY_DTYPE belongs inside the per-target
// namespace, the other macro outside.
#define MLUOP_SELECT_BY_DTYPE(FUNCTION, ARGS)                                                                    \
  RangeKernel<ARGS> FUNCTION##_by_dtype(mluOpDataType_t dtype) {                                                 \
    return dispatch_dtype(dtype, [](auto element) -> RangeKernel<ARGS> { return FUNCTION<decltype(element)>; }); \
  }                                                                                                              \
  static_assert(true, "a semicolon follows")
// Replaces MLUOP_SELECT_BY_DTYPE for kernels that only copy elements.
#define MLUOP_SELECT_BY_SIZE(FUNCTION, ARGS)                                                                    \
  RangeKernel<ARGS> FUNCTION##_by_dtype(mluOpDataType_t dtype) {                                                \
    return dispatch_size(dtype, [](auto element) -> RangeKernel<ARGS> { return FUNCTION<decltype(element)>; }); \
  }                                                                                                             \
  static_assert(true, "a semicolon follows")
#define MLUOP_EXPORT_KERNEL_OF_DTYPE(KERNEL, FUNCTION, ARGS)                                             \
  HWY_EXPORT(FUNCTION##_by_dtype);                                                                       \
  RangeKernel<ARGS> KERNEL(mluOpDataType_t dtype) { return MLUOP_DISPATCH(FUNCTION##_by_dtype)(dtype); } \
  static_assert(true, "a semicolon follows")

// The number of tasks of the native algorithm for `items` work items with `bytes` bytes of memory traffic:
// OMP_NUM_THREADS, or fewer if more would not pay off; at least 1.
int choose_task_dim(int64_t items, int64_t bytes);

// The number of tasks of the device algorithm: OMP_NUM_THREADS.
int device_task_dim();

// The number of tasks for the algorithm of the context; for primitives that both algorithms use.
int task_dim_of(const Context& context, int64_t items, int64_t bytes);

// Runs body(state, task) for task_dim tasks and returns when all are done; launch() is the typed form. `kernel`:
// the name of the kernel in statistics and traces, a literal. The NRAM of the team must be reserved
// (Context::reserve). An exception in a task, which is a bug, is rethrown here.
void run_team(Context& context, const char* kernel, int task_dim, void (*body)(const void* state, Task& task),
              const void* state);

// The work items [0, total), divided as the design documents do; see split().
struct Evenly {
  int64_t total;
  Range operator()(int task_dim, int task_id) const { return split(total, task_dim, task_id); }
};

// Static schedule: divide(task_dim, task_id) is the range of a task. Tasks with an empty range do not run.
template <class Args, class Divide>
void launch(Context& context, const char* name, int task_dim, const Divide& divide, RangeKernel<Args> kernel,
            const std::type_identity_t<Args>& args) {
  struct State {
    const Divide& divide;
    RangeKernel<Args> kernel;
    const Args& args;
  } state{divide, kernel, args};
  run_team(
      context, name, task_dim,
      [](const void* opaque, Task& task) {
        const State& launched = *static_cast<const State*>(opaque);
        const Range range = launched.divide(task.taskDim, task.taskId);
        task.statistics->first_item = range.begin;
        task.statistics->item_count = range.size();
        if (range.size() > 0) launched.kernel(launched.args, range.begin, range.end, task);
      },
      &state);
}

// Hands out the chunk numbers of a launch, each once.
class ChunkCounter {
 public:
  explicit ChunkCounter(int count) : count_(count) {}
  // The next number; `count` or more if there is none.
  int64_t next();
  int count() const { return count_; }

 private:
  int64_t next_ = 0;
  int count_;
};

// Adds a chunk, which began at start_us, to the statistics of a task.
inline void record_chunk(const Task& task, Range range, double start_us) {
  TaskStatistics& statistics = *task.statistics;
  if (statistics.item_count == 0) statistics.first_item = range.begin;
  statistics.item_count += range.size();
  statistics.nram_bytes = std::max(statistics.nram_bytes, static_cast<int64_t>(task.nram.used()));
  if (task.clock == nullptr) return;
  statistics.longest_chunk_us = std::max(statistics.longest_chunk_us, task.clock->now_us() - start_us);
}

// Dynamic schedule, for cores of different speed: divide(chunk_count, chunk) is the range of a chunk; a task that
// finishes a chunk takes the next. Each call of the kernel starts with an empty NRAM.
template <class Args, class Divide>
void launch_dynamic(Context& context, const char* name, int task_dim, int chunk_count, const Divide& divide,
                    RangeKernel<Args> kernel, const std::type_identity_t<Args>& args) {
  struct State {
    const Divide& divide;
    RangeKernel<Args> kernel;
    const Args& args;
    ChunkCounter& chunks;
  };
  ChunkCounter chunks(chunk_count);
  const State state{divide, kernel, args, chunks};
  run_team(
      context, name, task_dim,
      [](const void* opaque, Task& task) {
        const State& launched = *static_cast<const State*>(opaque);
        const int count = launched.chunks.count();
        for (int64_t chunk = launched.chunks.next(); chunk < count; chunk = launched.chunks.next()) {
          const Range range = launched.divide(count, static_cast<int>(chunk));
          Task chunk_task = task;
          const double start_us = task.clock == nullptr ? 0 : task.clock->now_us();
          if (range.size() > 0) launched.kernel(launched.args, range.begin, range.end, chunk_task);
          record_chunk(chunk_task, range, start_us);
          chunk_task.nram.release();
        }
      },
      &state);
}

}  // namespace mluop
