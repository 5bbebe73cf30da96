// Latency of a call, and its efficiencies on this machine.
#pragma once

#include <functional>

#include "case/operators.h"
#include "case/runner.h"

namespace mluop::cases {

// Sets the number of tasks, OMP_NUM_THREADS; 0: that of the start of the process.
void set_tasks(int tasks);

// The median of `calls` calls, in turn with the stream bound: io_efficiency is stream bound / latency,
// compute_efficiency the operations at the FMA peak / latency. Both with the current number of tasks as threads.
Timing measure(const std::function<void()>& call, const Work& work, int calls);

}  // namespace mluop::cases
