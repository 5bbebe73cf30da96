// Runs range kernels as the tasks of a team: the only way to parallel execution.
//
// A kernel is a function kernel(args, begin, end, task): it works on the items [begin, end), takes its scratch
// buffers from task.nram, does not throw, allocate, log or touch OpenMP. launch() divides the items over
// taskDim tasks, runs them and returns when all are done. The tasks need not run at the same time: where the
// machine has fewer cores, or OpenMP gives fewer threads than asked for, a thread runs several, one after
// another. So kernels must not wait for each other; steps that depend on each other are launches of their own.
#pragma once

#include <cstdint>
#include <type_traits>

#include "team/context.h"
#include "team/nram.h"
#include "team/split.h"

namespace mluop {

struct Task {
  int taskId;
  int taskDim;
  Nram nram;
};

template <class Args>
using RangeKernel = void (*)(const Args& args, int64_t begin, int64_t end, Task& task);

// The number of tasks for `items` work items that move `bytes` bytes: as many as OpenMP has threads
// (OMP_NUM_THREADS), fewer where items or bytes do not pay for them, at least 1.
int choose_task_dim(int64_t items, int64_t bytes);

// Runs body(state, task) for task_dim tasks. launch() is the typed way to it.
void run_team(Context& context, int task_dim, void (*body)(const void* state, Task& task), const void* state);

// Divides as the operators' documents do; see split().
struct Evenly {
  int64_t total;
  Range operator()(int task_dim, int task_id) const { return split(total, task_dim, task_id); }
};

// divide(task_dim, task_id) names the range of a task; tasks with an empty range do not run.
template <class Args, class Divide>
void launch(Context& context, int task_dim, const Divide& divide, RangeKernel<Args> kernel,
            const std::type_identity_t<Args>& args) {
  struct State {
    const Divide& divide;
    RangeKernel<Args> kernel;
    const Args& args;
  } state{divide, kernel, args};
  run_team(
      context, task_dim,
      [](const void* opaque, Task& task) {
        const State& launched = *static_cast<const State*>(opaque);
        const Range range = launched.divide(task.taskDim, task.taskId);
        if (range.size() > 0) launched.kernel(launched.args, range.begin, range.end, task);
      },
      &state);
}

}  // namespace mluop
