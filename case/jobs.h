// Runs several cases at a time, each in a separate process: a crash ends only one case, and its memory returns to
// the system.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "case/runner.h"

namespace mluop::cases {

// Receives the outcomes of a case that has ended, with its position in `files`.
using JobReport = std::function<void(size_t, const std::vector<Outcome>&)>;

// Runs the cases at `positions` in order, at most `jobs` at a time. If a process is terminated, its case gets a
// failure after the outcomes that it reported. The calling process must not have started OpenMP threads, which
// forked processes would lack. Throws Problem if no process can be started.
void run_jobs(const std::vector<std::string>& files, const std::vector<size_t>& positions,
              const RunOptions& options, size_t jobs, const JobReport& report);

}  // namespace mluop::cases
