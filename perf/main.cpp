// mluop_perf: measures the latency of the operators, its bounds on this machine, and baselines.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "case/files.h"
#include "perf/google_benchmark.h"
#include "perf/options.h"
#include "perf/support/measures.h"
#include "perf/support/npy_folder.h"
#include "perf/support/report.h"
#include "perf/support/scaling_model.h"
#include "perf/support/table.h"
#include "perf/support/task_table.h"

namespace mluop::perf {
namespace {

Report measure_all(const std::vector<CaseSpec>& cases, const Options& options) {
  Report report{describe_machine(), {}};
  // Measured before and after the cases, because the first measurement may be too low while threads start.
  const auto measure_fma_peaks = [&] {
    std::cerr << "measuring the FMA peak ..." << std::flush;
    for (const int threads : options.threads) {
      double& peak = report.machine.fma_peak[threads];
      peak = std::max(peak, measure_fma_peak(threads));
      std::cerr << ' ' << peak / 1e9 << " GFLOP/s";
    }
    std::cerr << std::endl;
  };
  measure_fma_peaks();
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const Size& size : options.sizes) {
      for (const int threads : options.threads) {
        std::cerr << '[' << i + 1 << '/' << cases.size() << "] " << title(cases[i]) << ", size " << size.name
                  << ", " << thread_text(threads) << ':';
        const auto results = measure(cases[i], {size, threads, options.caches}, std::cerr).results;
        report.results.insert(report.results.end(), results.begin(), results.end());
      }
    }
  }
  measure_fma_peaks();
  for (Result& result : report.results) result.fma_peak = report.machine.fma_peak[result.threads];
  return report;
}

int measure_and_report(const std::vector<CaseSpec>& cases, const Options& options) {
  std::optional<Report> old_run;
  if (!options.compare.empty()) old_run = read_report(options.compare.front());
  const Report report = measure_all(cases, options);
  write_table(std::cout, report);
  if (old_run) {
    std::cout << "\ncomparison with " << options.compare.front() << '\n';
    write_comparison(std::cout, *old_run, report);
  }
  if (!options.json.empty()) {
    std::ostringstream text;
    write_json(text, report_json(report));
    cases::write_file(options.json, text.str());
  }
  return std::ranges::all_of(report.results, &std::string::empty, &Result::problem) ? 0 : kFailure;
}

// Writes to FOLDER/operator/case_dtype. Both algorithms of a case have the same inputs.
void dump_inputs(const std::vector<CaseSpec>& cases, const Options& options) {
  const std::filesystem::path folder = options.dump;
  std::set<std::filesystem::path> written;
  for (const CaseSpec& spec : cases) {
    const auto inputs = folder / spec.op / (spec.name + '_' + spec.dtype);
    if (!written.insert(inputs).second) continue;
    std::cerr << "writing the inputs of " << title(spec) << std::endl;
    spec.prepare(options.sizes.front().factor)->write_inputs(NpyFolder(inputs));
  }
}

// Writes a table of calls that are not timed. make_rows(spec, size, numbers of tasks, progress) makes the rows of
// a case. Networks are excluded, because a call of a network consists of several calls.
template <class Row>
int show_rows(std::vector<CaseSpec> cases, const Options& options,
              std::vector<Row> (*make_rows)(const CaseSpec&, double, std::span<const int>, std::ostream&),
              void (*write)(std::ostream&, const std::vector<Row>&)) {
  std::erase_if(cases, [](const CaseSpec& spec) { return spec.op == kNetworks; });
  std::vector<Row> rows;
  for (const CaseSpec& spec : cases) {
    for (const Size& size : options.sizes) {
      std::cerr << title(spec) << ", size " << size.name << ':';
      for (Row& row : make_rows(spec, size.factor, options.tasks, std::cerr)) {
        if (spec.algorithm == "device") row.name += " device";
        if (size.name != "1") row.name += " x" + size.name;
        rows.push_back(std::move(row));
      }
    }
  }
  write(std::cout, rows);
  return std::ranges::all_of(rows, &std::string::empty, &Row::problem) ? 0 : kFailure;
}

int show_scaling_model(const std::vector<CaseSpec>& cases, const Options& options) {
  // Read when a handle is created.
  setenv("MLUOP_OMP_MAX_THREADS", "1", 1);
  return show_rows(cases, options, scaling_rows, write_scaling_table);
}

int run(const Options& options) {
  if (options.compare.size() == 2) {
    write_comparison(std::cout, read_report(options.compare[0]), read_report(options.compare[1]));
    return 0;
  }
  const auto cases = matching_cases(options.filter);
  if (cases.empty()) {
    std::cerr << "mluop_perf: no case matches the filters. Run mluop_perf --list --all to list the cases.\n";
    return kBadUsage;
  }
  if (options.list) {
    for (const CaseSpec& spec : cases) std::cout << title(spec) << '\n';
    return 0;
  }
  if (!options.dump.empty()) {
    dump_inputs(cases, options);
    return 0;
  }
  if (!options.google_benchmark.empty()) return run_google_benchmark(cases, options);
  if (options.scaling_model) return show_scaling_model(cases, options);
  if (!options.tasks.empty()) return show_rows(cases, options, task_rows, write_task_table);
  if (!options.json.empty()) cases::require_writable(options.json);
  return measure_and_report(cases, options);
}

}  // namespace
}  // namespace mluop::perf

int main(int argc, char** argv) {
  using namespace mluop::perf;
  try {
    Options options;
    if (const auto status = parse(argc, argv, options)) return *status;
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "mluop_perf: " << error.what() << '\n';
    return kFailure;
  }
}
