// Runs cases several at a time, each in a process of its own: a crash ends one case, and its memory returns to the
// system.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "case/runner.h"

namespace mluop::cases {

// Receives the outcomes of a case, by its position in `files`, when it has ended.
using JobReport = std::function<void(size_t, const std::vector<Outcome>&)>;

// Runs the cases at `positions` in their order, at most `jobs` at a time. A process that ends otherwise than by
// itself gives a failure after the outcomes that it reported. The calling process must not have started OpenMP
// threads, which a process that it forks would lack. Throws Problem if no process can be started.
void run_jobs(const std::vector<std::string>& files, const std::vector<size_t>& positions,
              const RunOptions& options, size_t jobs, const JobReport& report);

}  // namespace mluop::cases
