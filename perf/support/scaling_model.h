// A model of calls on more cores than the machine has. The tasks of a call run one after another on one thread, so
// that each has a core and its caches to itself; the model lets them run concurrently.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "perf/support/task_table.h"

namespace mluop::perf {

// The modelled latency of a call, in microseconds: the sum of the parts. Excludes the start of teams and the
// effects of shared resources other than memory.
struct ModelledLatency {
  double total() const { return work + few_tasks + imbalance + serial + memory; }

  double work = 0;       // time of all tasks / cores
  double few_tasks = 0;  // idle cores of launches with fewer tasks than cores
  double imbalance = 0;  // from the mean to the last task
  double serial = 0;     // outside of launches
  double memory = 0;     // what the compulsory bytes take, at a bandwidth, beyond the other parts
};

// The model for `cores` cores, the number of tasks that the call requested. A launch with static work items lasts
// as long as its longest task; a launch with chunks lasts at most total / tasks + (1 - 1 / tasks) * the longest
// chunk, for any order of chunks that keeps all tasks busy.
ModelledLatency model_latency(const RecordedCall& call, int cores);

struct ScalingFigures {
  double speed_up;  // over one core
  ModelledLatency latency;
  double bandwidth;  // compulsory bytes / latency, in GB/s
};

using ScalingRow = CountRow<ScalingFigures>;

// Models the case for each number of cores; each task counts with its shortest duration in several calls.
// `bandwidth`: of the memory that the cores share, in GB/s; 0: unlimited. Writes one line to `progress`. Requires
// that teams have one thread (MLUOP_OMP_MAX_THREADS=1).
std::vector<ScalingRow> scaling_rows(const CaseSpec& spec, double size, std::span<const int> core_counts,
                                     double bandwidth, std::ostream& progress);

// Writes a section per operator and a legend. At most 100 columns.
void write_scaling_table(std::ostream& out, const std::vector<ScalingRow>& rows);

}  // namespace mluop::perf
