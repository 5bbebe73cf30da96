// The latency of a call, and its efficiencies on this machine.
#pragma once

#include <functional>

#include "case/operators.h"
#include "case/runner.h"

namespace mluop::cases {

// Sets the number of tasks, OMP_NUM_THREADS; 0: the value at the start of the process.
void set_tasks(int tasks);

// The median of `calls` calls, measured in turn with the stream bound. io_efficiency is stream bound / latency;
// compute_efficiency is time of the operations at the FMA peak / latency. Both use the current number of tasks as
// threads.
Timing measure(const std::function<void()>& call, const Work& work, int calls);

}  // namespace mluop::cases
