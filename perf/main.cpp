// mluop_perf: measures the operators against the limits of the machine that it runs on.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/fma_peak.h"
#include "perf/support/npy_folder.h"
#include "perf/support/report.h"

namespace mluop::perf {
namespace {

constexpr int kFailure = 1;
constexpr int kBadUsage = 2;

constexpr auto kDescription =
    "Measures the operators of mluop-omp against the limits of this machine.\n\n"
    "Every result is verified before it is timed. Operator, serial loop and streaming twin of a case\n"
    "are timed in turns; the table shows medians. Progress goes to stderr, the table to stdout.\n";

constexpr auto kFooter =
    "Environment:\n"
    "  OMP_NUM_THREADS             Threads of the operators and of the limits\n"
    "  MLUOP_OMP_..., MLUOP_LOG_LEVEL\n"
    "                              As for every program that uses the library, see mlu_op.h\n\n"
    "Exit status:\n"
    "  0  All cases verified and measured\n"
    "  1  A case failed, or the figures could not be written\n"
    "  2  Bad usage";

struct Options {
  std::string op;
  std::string name;
  std::string json;
  std::string dump;
};

std::string title(const CaseSpec& spec) { return spec.op + '/' + spec.name + ' ' + spec.dtype + ' ' + spec.mode; }

std::vector<CaseSpec> selected_cases(const Options& options) {
  std::vector<CaseSpec> selected = all_cases();
  std::erase_if(selected, [&](const CaseSpec& spec) {
    return spec.op.find(options.op) == std::string::npos || spec.name.find(options.name) == std::string::npos;
  });
  return selected;
}

// Opened to append, so that a run that is broken off leaves an older file as it was.
bool writable(const std::string& file) { return std::ofstream(file, std::ios::app).good(); }

Report measure_all(const std::vector<CaseSpec>& cases) {
  std::cerr << "measuring the FMA peak ..." << std::flush;
  Report report{describe_machine(), {}};
  std::cerr << ' ' << report.machine.fma_peak / 1e9 << " GFLOP/s" << std::endl;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::cerr << '[' << i + 1 << '/' << cases.size() << "] " << title(cases[i]) << ':';
    report.results.push_back(measure(cases[i], report.machine.threads, std::cerr));
  }
  // Once more: nothing makes a peak too high, and a system that has just started the threads may make it too low.
  report.machine.fma_peak = std::max(report.machine.fma_peak, measure_fma_peak(report.machine.threads));
  return report;
}

// To FOLDER/operator/case_dtype. The modes of a case have the same inputs.
void dump_all(const std::vector<CaseSpec>& cases, const std::filesystem::path& folder) {
  for (const CaseSpec& spec : cases) {
    if (spec.mode != "deterministic") continue;
    std::cerr << "writing the inputs of " << title(spec) << std::endl;
    spec.prepare()->write_inputs(NpyFolder(folder / spec.op / (spec.name + '_' + spec.dtype)));
  }
}

int run(const Options& options) {
  const auto cases = selected_cases(options);
  if (cases.empty()) {
    std::cerr << "mluop_perf: no case matches; there are:\n";
    for (const CaseSpec& spec : all_cases()) std::cerr << "  " << title(spec) << '\n';
    return kBadUsage;
  }
  if (!options.dump.empty()) {
    dump_all(cases, options.dump);
    return 0;
  }
  if (!options.json.empty() && !writable(options.json)) {
    std::cerr << "mluop_perf: cannot write " << options.json << '\n';
    return kBadUsage;
  }
  const Report report = measure_all(cases);
  std::cerr << std::endl;
  write_table(std::cout, report);
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    write_json(file, report);
    file.close();
    if (!file) throw std::runtime_error("cannot write " + options.json);
  }
  const bool all_held = std::all_of(report.results.begin(), report.results.end(),
                                    [](const Result& result) { return result.problem.empty(); });
  return all_held ? 0 : kFailure;
}

}  // namespace
}  // namespace mluop::perf

int main(int argc, char** argv) {
  using namespace mluop::perf;
  Options options;
  CLI::App app(kDescription, "mluop_perf");
  app.add_option("--op", options.op, "Only operators whose name contains TEXT");
  app.add_option("--case", options.name, "Only cases whose name contains TEXT");
  app.add_option("--json", options.json, "Write all figures, with every sample, to FILE")->type_name("FILE");
  app.add_option("--dump", options.dump, "Measure nothing, write the inputs of the cases into FOLDER, for NumPy")
      ->type_name("FOLDER");
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
    return run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  } catch (const std::exception& error) {
    std::cerr << "mluop_perf: " << error.what() << '\n';
    return kFailure;
  }
}
