// The division of calls over tasks, from the statistics of the library: balance, tiles, NRAM, atomics and traffic.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "mlu_op_omp.h"
#include "perf/support/count_rows.h"

namespace mluop::perf {

// The tasks of a launch.
using LaunchTasks = std::vector<mluOpOmpTaskStatistics_t>;

struct RecordedCall {
  double duration_us;
  std::vector<LaunchTasks> launches;
};

// Calls the case once with statistics.
RecordedCall record_call(Case& prepared);

// The figures of one call. A figure that does not exist is NaN.
struct TaskFigures {
  // mean / max over the tasks of a launch; mean over the launches, weighted by their traffic (native: by the time
  // of their tasks)
  double item_balance;
  double byte_balance;  // the same for the traffic; device algorithm only
  int64_t tiles;
  double nram_share;  // largest NRAM use of a task / capacity
  int64_t atomics;
  double contended_share;   // share of the atomics that waited for a lock
  double compulsory_share;  // compulsory bytes / traffic
};

TaskFigures task_figures(std::span<const LaunchTasks> launches, const Work& work, int64_t nram_bytes);

using TaskRow = CountRow<TaskFigures>;

// Calls the case once with each number of tasks. Writes one line to `progress`.
std::vector<TaskRow> task_rows(const CaseSpec& spec, double size, std::span<const int> task_counts,
                               std::ostream& progress);

// Writes a section per operator and a legend. At most 100 columns.
void write_task_table(std::ostream& out, const std::vector<TaskRow>& rows);

}  // namespace mluop::perf
