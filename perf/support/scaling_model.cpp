#include "perf/support/scaling_model.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "perf/support/measures.h"

namespace mluop::perf {
namespace {

double compulsory_bytes(const Case& prepared) {
  const Work work = prepared.work();
  return static_cast<double>(work.read_bytes + work.write_bytes);
}

constexpr int kCalls = 5;

// The time outside of launches.
double outside_of_launches(const RecordedCall& call) {
  double of_launches = 0;
  for (const LaunchTasks& tasks : call.launches) {
    for (const auto& task : tasks) of_launches += task.duration_us;
  }
  return std::max(call.duration_us - of_launches, 0.0);
}

bool has_equal_launches(const RecordedCall& a, const RecordedCall& b) {
  return std::ranges::equal(a.launches, b.launches, {}, &LaunchTasks::size, &LaunchTasks::size);
}

// The shorter duration of each task, and of the time outside of launches, in two calls: interruptions of the
// process lengthen single tasks.
RecordedCall shortest_tasks(RecordedCall a, const RecordedCall& b) {
  const double outside = std::min(outside_of_launches(a), outside_of_launches(b));
  a.duration_us = outside;
  for (size_t launch = 0; launch < a.launches.size(); ++launch) {
    for (size_t i = 0; i < a.launches[launch].size(); ++i) {
      auto& task = a.launches[launch][i];
      const auto& other = b.launches[launch][i];
      task.duration_us = std::min(task.duration_us, other.duration_us);
      task.longest_chunk_us = std::min(task.longest_chunk_us, other.longest_chunk_us);
      a.duration_us += task.duration_us;
    }
  }
  return a;
}

// Calls for this number of cores, after one that fills the caches.
ModelledLatency model_calls(Case& prepared, int cores, double bandwidth) {
  set_thread_count(cores);
  prepared.run();
  RecordedCall shortest = record_call(prepared);
  for (int call = 1; call < kCalls; ++call) {
    const RecordedCall next = record_call(prepared);
    if (has_equal_launches(shortest, next)) shortest = shortest_tasks(std::move(shortest), next);
  }
  ModelledLatency latency = model_latency(shortest, cores);
  if (bandwidth > 0)
    latency.memory = std::max(compulsory_bytes(prepared) / bandwidth / 1e3 - latency.total(), 0.0);
  return latency;
}

}  // namespace

ModelledLatency model_latency(const RecordedCall& call, int cores) {
  ModelledLatency latency;
  for (const LaunchTasks& tasks : call.launches) {
    const auto count = static_cast<double>(tasks.size());
    double sum = 0, longest_task = 0, longest_chunk = 0;
    for (const auto& task : tasks) {
      sum += task.duration_us;
      longest_task = std::max(longest_task, task.duration_us);
      longest_chunk = std::max(longest_chunk, task.longest_chunk_us);
    }
    const double last =
        longest_chunk > 0 ? std::min(sum, sum / count + (1 - 1 / count) * longest_chunk) : longest_task;
    latency.work += sum / cores;
    latency.few_tasks += sum / count - sum / cores;
    latency.imbalance += last - sum / count;
  }
  latency.serial = outside_of_launches(call);
  return latency;
}

std::vector<ScalingRow> scaling_rows(const CaseSpec& spec, double size, std::span<const int> core_counts,
                                     double bandwidth, std::ostream& progress) {
  ModelledLatency on_one_core;
  return count_rows(spec, size, core_counts, progress, [&](Case& prepared, int cores) {
    if (on_one_core.total() == 0) on_one_core = model_calls(prepared, 1, bandwidth);
    const ModelledLatency latency = cores == 1 ? on_one_core : model_calls(prepared, cores, bandwidth);
    return ScalingFigures{on_one_core.total() / latency.total(), latency,
                          compulsory_bytes(prepared) / latency.total() / 1e3};
  });
}

void write_scaling_table(std::ostream& out, const std::vector<ScalingRow>& rows) {
  const auto share = [](double ModelledLatency::*part) {
    return [part](const ScalingFigures& f) { return figure(f.latency.*part / f.latency.total() * 100, 0, "%"); };
  };
  write_count_rows<ScalingFigures>(
      out, rows, "cores",
      {{"latency", 9, [](const ScalingFigures& f) { return figure(f.latency.total() / 1e3, 3); }},
       {"speed-up", 9, [](const ScalingFigures& f) { return figure(f.speed_up, 1); }},
       {"work", 6, share(&ModelledLatency::work)},
       {"tasks", 6, share(&ModelledLatency::few_tasks)},
       {"balance", 8, share(&ModelledLatency::imbalance)},
       {"serial", 7, share(&ModelledLatency::serial)},
       {"memory", 7, share(&ModelledLatency::memory)},
       {"GB/s", 7, [](const ScalingFigures& f) { return figure(f.bandwidth, 1); }}});
  out << "\nA model, not a measurement: the tasks of a call ran one after another on one core. latency, in ms:\n"
         "as if each task had a core as fast as this one; excludes the start of teams and shared resources.\n"
         "work: time of all tasks / cores. tasks: launches with fewer tasks than cores. balance: from the mean\n"
         "to the last task. serial: outside of launches. memory: waiting for the bandwidth of --bandwidth. GB/s:\n"
         "compulsory bytes / latency, which the memory of such a machine must stream.\n";
}

}  // namespace mluop::perf
