// mluop_perf: measures the latency of the operators, its bounds on this machine, and baselines.
#include <algorithm>
#include <chrono>
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
#include "case/near.h"
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

// ", 3 min left": the mean time of the cases that are done, for each of the others.
std::string remaining_text(double seconds, size_t done, size_t all) {
  constexpr size_t kFew = 3;
  if (done < kFew) return {};
  const double left = seconds / static_cast<double>(done) * static_cast<double>(all - done);
  return left >= 90 ? ", " + figure(left / 60, 0, " min left") : ", " + figure(left, 0, " s left");
}

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
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const Size& size : options.sizes) {
      for (const int threads : options.threads) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        std::cerr << '[' << i + 1 << '/' << cases.size() << remaining_text(elapsed.count(), i, cases.size())
                  << "] " << title(cases[i]) << ", size " << size.name << ", " << thread_text(threads) << ':';
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
  write_lines(std::cout, report);
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
  if (!options.html.empty()) {
    std::ostringstream text;
    write_html(text, report);
    cases::write_file(options.html, text.str());
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
template <class Row, class MakeRows>
int show_rows(std::vector<CaseSpec> cases, const Options& options, const MakeRows& make_rows,
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
  const auto rows = [&](const CaseSpec& spec, double size, std::span<const int> cores, std::ostream& progress) {
    return scaling_rows(spec, size, cores, options.bandwidth, progress);
  };
  return show_rows(cases, options, rows, write_scaling_table);
}

std::vector<std::string> distinct(const std::vector<CaseSpec>& specs, std::string CaseSpec::*name) {
  std::set<std::string> names;
  for (const CaseSpec& spec : specs) names.insert(spec.*name);
  return {names.begin(), names.end()};
}

// Says which filter matches nothing, and what is near.
std::string no_match_text(const Filter& filter) {
  Filter of_op;
  of_op.op = filter.op;
  const auto specs = matching_cases(of_op);
  const auto text = [](const std::string& what, const std::string& word, const std::vector<std::string>& names) {
    const std::string near = cases::did_you_mean(word, names);
    return what + " '" + word + '\'' + (near.empty() ? "." : near) + " mluop_perf --list --all lists all cases.";
  };
  if (specs.empty()) return text("--op: unknown operator", filter.op, distinct(matching_cases({}), &CaseSpec::op));
  const std::vector<std::string> names = distinct(specs, &CaseSpec::name);
  const auto has = [&](const std::string& name) { return name.find(filter.name) != name.npos; };
  if (std::ranges::none_of(names, has)) return text("--case: no case is named", filter.name, names);
  return "no case matches all of --op, --case, --dtype and --algorithm. mluop_perf --list --all lists all cases.";
}

int run(const Options& options) {
  if (options.compare.size() == 2) {
    write_comparison(std::cout, read_report(options.compare[0]), read_report(options.compare[1]));
    return 0;
  }
  const auto cases = matching_cases(options.filter);
  if (cases.empty()) {
    std::cerr << "mluop_perf: " << no_match_text(options.filter) << '\n';
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
  for (const std::string& file : {options.json, options.html}) {
    if (!file.empty()) cases::require_writable(file);
  }
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
