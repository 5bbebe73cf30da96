#include "perf/support/scaling_model.h"

#include <algorithm>
#include <ostream>

#include "perf/support/measures.h"

namespace mluop::perf {
namespace {

constexpr int kCalls = 5;

// The fastest of several calls for this number of cores, after one that fills the caches.
ModelledLatency fastest_call(Case& prepared, int cores) {
  set_thread_count(cores);
  prepared.run();
  ModelledLatency fastest = model_latency(record_call(prepared), cores);
  for (int call = 1; call < kCalls; ++call) {
    const ModelledLatency latency = model_latency(record_call(prepared), cores);
    if (latency.total() < fastest.total()) fastest = latency;
  }
  return fastest;
}

}  // namespace

ModelledLatency model_latency(const RecordedCall& call, int cores) {
  ModelledLatency latency;
  double of_launches = 0;
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
    of_launches += sum;
  }
  latency.serial = std::max(call.duration_us - of_launches, 0.0);
  return latency;
}

std::vector<ScalingRow> scaling_rows(const CaseSpec& spec, double size, std::span<const int> core_counts,
                                     std::ostream& progress) {
  double on_one_core = 0;
  return count_rows(spec, size, core_counts, progress, [&](Case& prepared, int cores) {
    if (on_one_core == 0) on_one_core = fastest_call(prepared, 1).total();
    const ModelledLatency latency = fastest_call(prepared, cores);
    const Work work = prepared.work();
    const auto bytes = static_cast<double>(work.read_bytes + work.write_bytes);
    return ScalingFigures{on_one_core / latency.total(), latency, bytes / latency.total() / 1e3};
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
       {"GB/s", 7, [](const ScalingFigures& f) { return figure(f.bandwidth, 1); }}});
  out << "\nA model, not a measurement: the tasks of a call ran one after another on one core. latency, in ms:\n"
         "as if each task had a core as fast as this one; excludes the start of teams and shared resources.\n"
         "work: time of all tasks / cores. tasks: launches with fewer tasks than cores. balance: from the mean\n"
         "to the last task. serial: outside of launches. GB/s: compulsory bytes / latency, which the memory of\n"
         "such a machine must stream.\n";
}

}  // namespace mluop::perf
