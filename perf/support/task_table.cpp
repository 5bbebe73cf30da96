#include "perf/support/task_table.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <string_view>

#include "perf/support/measures.h"

namespace mluop::perf {
namespace {

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                   : std::numeric_limits<double>::quiet_NaN();
}

// The traffic of a task: bytes loaded and stored, and 8 bytes for each element that an atomic reads and writes.
int64_t traffic(const mluOpOmpTaskStatistics_t& task) {
  constexpr int64_t kElementBytes = 4;
  return task.bytes_loaded + task.bytes_stored + 2 * kElementBytes * task.atomic_elements;
}

// The NRAM of a task, from the variables that the library reads.
int64_t nram_capacity() {
  constexpr int64_t kKiB = 1024;
  if (const char* kib = std::getenv("MLUOP_OMP_NRAM_KB")) return std::atoll(kib) * kKiB;
  const char* device = std::getenv("MLUOP_OMP_DEVICE");
  return (device == nullptr || std::string_view(device) == "mlu370" ? 640 : 384) * kKiB;
}

bool has_traffic(const LaunchTasks& tasks) {
  return std::ranges::any_of(tasks, [](const auto& task) { return traffic(task) > 0; });
}

}  // namespace

RecordedCall record_call(Case& prepared) {
  const mluOpHandle_t handle = prepared.handle();
  cases::require(mluOpOmpSetStatistics(handle, 1));
  RecordedCall call;
  call.duration_us = seconds_of([&] { prepared.run(); }) * 1e6;
  int count = 0;
  cases::require(mluOpOmpGetLaunchCount(handle, &count));
  for (int i = 0; i < count; ++i) {
    mluOpOmpLaunchStatistics_t launch;
    cases::require(mluOpOmpGetLaunchStatistics(handle, i, &launch));
    LaunchTasks tasks(static_cast<size_t>(launch.task_dim));
    for (int task = 0; task < launch.task_dim; ++task) {
      cases::require(mluOpOmpGetTaskStatistics(handle, i, task, &tasks[static_cast<size_t>(task)]));
    }
    call.launches.push_back(std::move(tasks));
  }
  return call;
}

TaskFigures task_figures(std::span<const LaunchTasks> launches, const Work& work, int64_t nram_bytes) {
  TaskFigures figures{};
  const bool is_native = std::ranges::none_of(launches, has_traffic);
  int64_t all_bytes = 0, contended = 0, max_nram = 0;
  double all_weights = 0;
  for (const LaunchTasks& tasks : launches) {
    int64_t items = 0, max_items = 0, bytes = 0, max_bytes = 0;
    double duration_us = 0;
    for (const auto& task : tasks) {
      items += task.item_count;
      max_items = std::max(max_items, task.item_count);
      bytes += traffic(task);
      max_bytes = std::max(max_bytes, traffic(task));
      duration_us += task.duration_us;
      figures.tiles += task.tiles;
      figures.atomics += task.atomics;
      contended += task.contended;
      max_nram = std::max(max_nram, task.nram_bytes);
    }
    all_bytes += bytes;
    const auto task_count = static_cast<int64_t>(tasks.size());
    const double weight = is_native ? duration_us : static_cast<double>(bytes);
    all_weights += weight;
    if (items > 0) figures.item_balance += ratio(items, max_items * task_count) * weight;
    if (bytes > 0) figures.byte_balance += ratio(bytes, max_bytes * task_count) * weight;
  }
  figures.item_balance /= all_weights;
  figures.byte_balance /= static_cast<double>(all_bytes);
  figures.nram_share = ratio(max_nram, nram_bytes);
  figures.contended_share = ratio(contended, figures.atomics);
  figures.compulsory_share = ratio(work.read_bytes + work.write_bytes, all_bytes);
  return figures;
}

std::vector<TaskRow> task_rows(const CaseSpec& spec, double size, std::span<const int> task_counts,
                               std::ostream& progress) {
  return count_rows(spec, size, task_counts, progress, [](Case& prepared, int tasks) {
    set_thread_count(tasks);
    return task_figures(record_call(prepared).launches, prepared.work(), nram_capacity());
  });
}

void write_task_table(std::ostream& out, const std::vector<TaskRow>& rows) {
  write_count_rows<TaskFigures>(
      out, rows, "tasks",
      {{"items", 7, [](const TaskFigures& f) { return figure(f.item_balance, 2); }},
       {"bytes", 7, [](const TaskFigures& f) { return figure(f.byte_balance, 2); }},
       {"tiles", 9, [](const TaskFigures& f) { return std::to_string(f.tiles); }},
       {"NRAM", 7, [](const TaskFigures& f) { return figure(f.nram_share * 100, 1, "%"); }},
       {"atomics", 11, [](const TaskFigures& f) { return std::to_string(f.atomics); }},
       {"contended", 10, [](const TaskFigures& f) { return figure(f.contended_share * 100, 2, "%"); }},
       {"compulsory", 11, [](const TaskFigures& f) { return figure(f.compulsory_share * 100, 1, "%"); }}});
  out << "\nOne call per line. items, bytes: balance of the work items and of the traffic over the tasks,\n"
         "mean / max, launches weighted by their traffic, native ones by their time. tiles, atomics: of all "
         "tasks. NRAM: the largest use\n"
         "of a task / capacity. contended: atomics that waited for a lock / atomics. compulsory: compulsory\n"
         "bytes of the call / traffic. traffic: bytes loaded and stored, and 8 bytes per atomic element.\n";
}

}  // namespace mluop::perf
