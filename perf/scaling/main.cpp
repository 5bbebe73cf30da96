// mluop_scaling: how the operators' work divides over more tasks than this machine has cores, by counting.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/scaling/count.h"
#include "perf/support/parallel.h"

namespace mluop::perf {
namespace {

constexpr auto kDescription =
    "Counts what the tasks of each operator do, for up to 256 tasks, whatever machine this is: nothing is\n"
    "timed. What is counted is bytes of memory that the compiled code reads and writes, element by element.\n"
    "The threads are those of --tasks; a few GB of memory, a few seconds to a minute for a case.\n";

constexpr auto kLegend =
    "launches: of a call, each ending in a barrier. balance: mean work of a task / that of the busiest one,\n"
    "launch by launch. limit: the speed-up over one task that balance and the serial part allow. MB read, "
    "written:\n"
    "of shared memory, by all tasks; scratch: of NRAM and stack. atomics: updates of a call.\n";

struct Options {
  Filter filter;
  bool launches = false;
  std::vector<int> tasks = {1, 2, 4, 8, 16, 32, 64, 128, 256};
};

int64_t busiest_of(const std::vector<Counts>& launch) {
  int64_t most = 0;
  for (const Counts& counts : launch) most = std::max(most, counts.work());
  return most;
}

struct Totals {
  Counts all;
  int64_t busiest = 0;  // the sum over launches
  double balance = 1;
};

Totals totals_of(const Recording& recording, int tasks) {
  Totals totals;
  int64_t launched = 0;
  for (const std::vector<Counts>& launch : recording.launches) {
    for (const Counts& counts : launch) {
      totals.all += counts;
      launched += counts.work();
    }
    totals.busiest += busiest_of(launch);
  }
  totals.all += recording.serial;
  totals.balance =
      static_cast<double>(launched) / tasks / static_cast<double>(std::max<int64_t>(totals.busiest, 1));
  return totals;
}

void write_launches(const Recording& recording) {
  std::cout << "          serial part: " << static_cast<double>(recording.serial.work()) / 1e6 << " MB\n";
  for (const std::vector<Counts>& launch : recording.launches) {
    Counts all;
    for (const Counts& counts : launch) all += counts;
    const auto work = static_cast<double>(all.work());
    std::cout << "          launch of" << std::setw(4) << launch.size() << " tasks: " << work / 1e6
              << " MB, the busiest " << static_cast<double>(busiest_of(launch)) / 1e6 << ", the mean "
              << work / 1e6 / static_cast<double>(launch.size()) << '\n';
  }
}

void count_case(const CaseSpec& spec, const Options& options) {
  std::cout << '\n'
            << title(spec) << "\n  tasks launches balance   limit    MB read  MB written  MB scratch    atomics\n";
  int64_t work_of_one = 0;
  for (const int tasks : options.tasks) {
    set_thread_count(tasks);
    const auto measured = spec.prepare(1);
    const Recording recording = record([&] { measured->run(); });
    const Totals totals = totals_of(recording, tasks);
    if (work_of_one == 0) work_of_one = totals.all.work();
    const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
    std::cout << std::fixed << std::setw(7) << tasks << std::setw(9) << recording.launches.size()
              << std::setprecision(2) << std::setw(8) << totals.balance << std::setprecision(1) << std::setw(8)
              << static_cast<double>(work_of_one) / static_cast<double>(totals.busiest + recording.serial.work())
              << std::setw(11) << megabytes(totals.all.read_bytes) << std::setw(12)
              << megabytes(totals.all.written_bytes) << std::setw(12) << megabytes(totals.all.scratch_bytes)
              << std::setw(11) << totals.all.atomics << std::endl;
    if (options.launches) write_launches(recording);
  }
}

int run(const Options& options) {
  const auto cases = matching_cases(options.filter);
  if (cases.empty()) {
    std::cerr << "mluop_scaling: no case matches; mluop_perf --list names them\n";
    return 2;
  }
  for (const CaseSpec& spec : cases) count_case(spec, options);
  std::cout << '\n' << kLegend;
  return 0;
}

}  // namespace
}  // namespace mluop::perf

int main(int argc, char** argv) {
  using namespace mluop::perf;
  Options options;
  CLI::App app(kDescription, "mluop_scaling");
  app.add_option("--op", options.filter.op, "Only operators whose name contains TEXT");
  app.add_option("--case", options.filter.name, "Only cases whose name contains TEXT");
  app.add_option("--dtype", options.filter.dtype, "Only dtypes whose name contains TEXT");
  app.add_option("--mode", options.filter.mode, "Only modes whose name contains TEXT");
  app.add_option("--tasks", options.tasks, "Numbers of tasks, the first for the limit to compare with")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024));
  app.add_flag("--launches", options.launches, "Also each launch: its tasks and their work");
  try {
    app.parse(argc, argv);
    return run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "mluop_scaling: " << error.what() << '\n';
    return 1;
  }
}
