#include "perf/support/task_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <limits>
#include <ostream>
#include <sstream>
#include <string_view>

#include "perf/support/parallel.h"

namespace mluop::perf {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : kNaN;
}

// The sum and the maximum over the tasks of a launch.
struct Totals {
  Totals(const LaunchTasks& launch, int64_t (*value)(const mluOpOmpTaskStatistics_t&))
      : tasks(static_cast<int64_t>(launch.size())) {
    for (const auto& task : launch) {
      sum += value(task);
      max = std::max(max, value(task));
    }
  }

  double balance() const { return ratio(sum, max * tasks); }

  int64_t tasks, sum = 0, max = 0;
};

int64_t item_count(const mluOpOmpTaskStatistics_t& task) { return task.item_count; }

// The NRAM of a task, from the variables that the library reads.
int64_t nram_capacity() {
  constexpr int64_t kKiB = 1024;
  if (const char* kib = std::getenv("MLUOP_OMP_NRAM_KB")) return std::atoll(kib) * kKiB;
  const char* device = std::getenv("MLUOP_OMP_DEVICE");
  return (device == nullptr || std::string_view(device) == "mlu370" ? 640 : 384) * kKiB;
}

// Calls the case once with statistics.
std::vector<LaunchTasks> record_call(Case& prepared) {
  const mluOpHandle_t handle = prepared.handle();
  test::require(mluOpOmpSetStatistics(handle, 1));
  prepared.run();
  int count = 0;
  test::require(mluOpOmpGetLaunchCount(handle, &count));
  std::vector<LaunchTasks> launches;
  for (int i = 0; i < count; ++i) {
    mluOpOmpLaunchStatistics_t launch;
    test::require(mluOpOmpGetLaunchStatistics(handle, i, &launch));
    LaunchTasks tasks(static_cast<size_t>(launch.task_dim));
    for (int task = 0; task < launch.task_dim; ++task) {
      test::require(mluOpOmpGetTaskStatistics(handle, i, task, &tasks[static_cast<size_t>(task)]));
    }
    launches.push_back(std::move(tasks));
  }
  return launches;
}

// Writes a figure, or a dash for NaN.
void write_figure(std::ostream& out, int width, double figure, int digits, const char* unit) {
  std::ostringstream text;
  if (std::isfinite(figure)) {
    text << std::fixed << std::setprecision(digits) << figure << unit;
  } else {
    text << '-';
  }
  out << std::setw(width) << text.str();
}

void write_row(std::ostream& out, int name_width, const TaskRow& row) {
  out << "  " << std::left << std::setw(name_width) << row.name << ' ' << std::setw(5) << row.dtype << std::right
      << std::setw(6) << row.tasks;
  if (!row.problem.empty()) {
    out << "  FAILED\n    " << row.problem << '\n';
    return;
  }
  const TaskFigures& f = row.figures;
  write_figure(out, 7, f.item_balance, 2, "");
  write_figure(out, 7, f.byte_balance, 2, "");
  out << std::setw(9) << f.tiles;
  write_figure(out, 7, f.nram_share * 100, 1, "%");
  out << std::setw(11) << f.atomics;
  write_figure(out, 10, f.contended_share * 100, 2, "%");
  write_figure(out, 11, f.compulsory_share * 100, 1, "%");
  out << '\n';
}

}  // namespace

int64_t traffic(const mluOpOmpTaskStatistics_t& task) {
  constexpr int64_t kElementBytes = 4;
  return task.bytes_loaded + task.bytes_stored + 2 * kElementBytes * task.atomic_elements;
}

TaskFigures task_figures(std::span<const LaunchTasks> launches, const Work& work, int64_t nram_bytes) {
  TaskFigures figures{};
  int64_t all_bytes = 0, contended = 0, max_nram = 0;
  for (const LaunchTasks& tasks : launches) {
    const Totals items(tasks, item_count), bytes(tasks, traffic);
    if (bytes.sum > 0) {
      all_bytes += bytes.sum;
      figures.item_balance += items.max > 0 ? items.balance() * static_cast<double>(bytes.sum) : 0;
      figures.byte_balance += bytes.balance() * static_cast<double>(bytes.sum);
    }
    for (const auto& task : tasks) {
      figures.tiles += task.tiles;
      figures.atomics += task.atomics;
      contended += task.contended;
      max_nram = std::max(max_nram, task.nram_bytes);
    }
  }
  figures.item_balance /= static_cast<double>(all_bytes);
  figures.byte_balance /= static_cast<double>(all_bytes);
  figures.nram_share = ratio(max_nram, nram_bytes);
  figures.contended_share = ratio(contended, figures.atomics);
  figures.compulsory_share = ratio(work.read_bytes + work.write_bytes, all_bytes);
  return figures;
}

std::vector<TaskRow> task_rows(const CaseSpec& spec, double size, std::span<const int> task_counts,
                               std::ostream& progress) {
  std::vector<TaskRow> rows;
  TaskRow row{spec.op, spec.name, spec.dtype, 0, {}, ""};
  progress << " preparing ..." << std::flush;
  try {
    const auto prepared = spec.prepare(size);
    progress << " tasks:";
    for (const int tasks : task_counts) {
      progress << ' ' << tasks << std::flush;
      row.tasks = tasks;
      set_thread_count(tasks);
      row.figures = task_figures(record_call(*prepared), prepared->work(), nram_capacity());
      rows.push_back(row);
    }
  } catch (const std::exception& error) {
    row.problem = error.what();
    rows.push_back(row);
    progress << " FAILED: " << row.problem;
  }
  progress << std::endl;
  return rows;
}

void write_task_table(std::ostream& out, std::span<const TaskRow> rows) {
  size_t name_width = 4;
  for (const TaskRow& row : rows) name_width = std::max(name_width, row.name.size());
  const auto width = static_cast<int>(name_width);
  std::string op;
  for (const TaskRow& row : rows) {
    if (row.op != op) {
      out << (op.empty() ? "" : "\n") << row.op << "\n  " << std::left << std::setw(width) << "case" << std::right
          << " dtype tasks  items  bytes    tiles   NRAM    atomics contended compulsory\n";
    }
    op = row.op;
    write_row(out, width, row);
  }
  out << "\nOne call per line. items, bytes: balance of the work items and of the traffic over the tasks,\n"
         "mean / max, launches weighted by their traffic. tiles, atomics: of all tasks. NRAM: the largest use\n"
         "of a task / capacity. contended: atomics that waited for a lock / atomics. compulsory: compulsory\n"
         "bytes of the call / traffic. traffic: bytes loaded and stored, and 8 bytes per atomic element.\n";
}

}  // namespace mluop::perf
