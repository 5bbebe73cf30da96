#include "perf/scaling/count.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "perf/scaling/count_access.h"
#include "perf/scaling/turns.h"
#include "perf/support/parallel.h"
#include "team/launch.h"

namespace mluop::perf {

thread_local Accesses accesses;

namespace {

Recording* recording = nullptr;

struct CountedBody {
  void (*body)(const void* state, Task& task);
  const void* state;
  std::vector<Counts>& counts;
  Turns& turns;
};

// Of the calling thread, in a task.
thread_local Turns* turns = nullptr;
thread_local int task_id = 0;

void run_counted(const void* opaque, Task& task) {
  const auto& counted = *static_cast<const CountedBody*>(opaque);
  const Accesses outer = accesses;
  turns = &counted.turns;
  task_id = task.taskId;
  accesses = Accesses(task.nram.take<std::byte>(0), task.nram.capacity());
  counted.body(counted.state, task);
  counted.counts[static_cast<size_t>(task.taskId)] = accesses.counts;
  accesses = outer;
  counted.turns.leave();
}

}  // namespace

void wait_for_turn() { turns->wait(task_id, accesses.counts.work()); }

Counts& Counts::operator+=(const Counts& other) {
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  scratch_bytes += other.scratch_bytes;
  atomics += other.atomics;
  return *this;
}

Recording record(const std::function<void()>& call) {
  if (thread_limit() < thread_count()) {
    throw std::runtime_error("OMP_THREAD_LIMIT allows fewer threads than tasks, expected one for each");
  }
  Recording made;
  recording = &made;
  accesses = Accesses(nullptr, 0);
  call();
  made.serial = accesses.counts;
  recording = nullptr;
  return made;
}

}  // namespace mluop::perf

// The linker leads every call of mluop::run_team() here (--wrap).
extern "C" {
void __real__ZN5mluop8run_teamER12mluOpContextiPFvPKvRNS_4TaskEES3_(mluop::Context& context, int task_dim,
                                                                    void (*body)(const void*, mluop::Task&),
                                                                    const void* state);
void __wrap__ZN5mluop8run_teamER12mluOpContextiPFvPKvRNS_4TaskEES3_(mluop::Context& context, int task_dim,
                                                                    void (*body)(const void*, mluop::Task&),
                                                                    const void* state) {
  using namespace mluop::perf;
  std::vector<Counts> counts(static_cast<size_t>(task_dim));
  // A task that waits for its turn needs a thread of its own.
  context.max_threads = std::max(context.max_threads, task_dim);
  Turns turns(task_dim);
  const CountedBody counted{body, state, counts, turns};
  __real__ZN5mluop8run_teamER12mluOpContextiPFvPKvRNS_4TaskEES3_(context, task_dim, run_counted, &counted);
  if (recording != nullptr) recording->launches.push_back(counts);
}
}
