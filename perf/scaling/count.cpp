#include "perf/scaling/count.h"

#include <cstddef>

#include "perf/scaling/count_access.h"
#include "team/launch.h"

namespace mluop::perf {

thread_local Accesses accesses;

namespace {

Recording* recording = nullptr;

struct CountedBody {
  void (*body)(const void* state, Task& task);
  const void* state;
  std::vector<Counts>& counts;
};

void run_counted(const void* opaque, Task& task) {
  const auto& counted = *static_cast<const CountedBody*>(opaque);
  const Accesses outer = accesses;
  accesses = Accesses(task.nram.take<std::byte>(0), task.nram.capacity());
  counted.body(counted.state, task);
  counted.counts[static_cast<size_t>(task.taskId)] = accesses.counts;
  accesses = outer;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  scratch_bytes += other.scratch_bytes;
  atomics += other.atomics;
  return *this;
}

Recording record(const std::function<void()>& call) {
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
  const CountedBody counted{body, state, counts};
  __real__ZN5mluop8run_teamER12mluOpContextiPFvPKvRNS_4TaskEES3_(context, task_dim, run_counted, &counted);
  if (recording != nullptr) recording->launches.push_back(counts);
}
}
