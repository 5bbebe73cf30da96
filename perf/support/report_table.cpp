#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <span>
#include <sstream>

#include "perf/support/report.h"

namespace mluop::perf {
namespace {

void write_header(std::ostream& out, const Machine& machine) {
  out << "mluop-omp " << machine.library << " on " << machine.cpu << ", " << machine.instruction_set;
  if (!machine.simd_limit.empty()) out << " (the library: MLUOP_OMP_SIMD=" << machine.simd_limit << ")";
  out << "\nthreads: " << machine.threads << ", FMA peak: " << std::fixed << std::setprecision(1)
      << machine.fma_peak / 1e9 << " GFLOP/s\n";
}

// The cases of one operator, and the columns that they need.
struct Section {
  std::span<const Result> results;
  int name_width = 4;
  std::vector<std::string> baselines;  // of any case, in their order
  bool has_memory = false;
};

Section section_of(std::span<const Result> results) {
  Section section;
  section.results = results;
  for (const Result& result : results) {
    section.name_width = std::max(section.name_width, static_cast<int>(result.name.size()));
    section.has_memory |= result.memory.has_value();
    for (const NamedSamples& baseline : result.baselines) {
      auto& names = section.baselines;
      if (std::find(names.begin(), names.end(), baseline.name) == names.end()) names.push_back(baseline.name);
    }
  }
  return section;
}

void write_label(std::ostream& out, const Section& section, const std::string& name, const std::string& dtype,
                 const std::string& mode) {
  out << "  " << std::left << std::setw(section.name_width) << name << "  " << std::setw(5) << dtype << "  "
      << std::setw(13) << mode << std::right;
}

void write_title(std::ostream& out, const Section& section) {
  out << '\n' << section.results.front().op;
  const char* separator = "; speed-up over ";
  for (const std::string& name : section.baselines) {
    out << separator << name;
    separator = ", ";
  }
  out << '\n';
  write_label(out, section, "case", "dtype", "mode");
  out << "  time ms  twin ms GFLOP/s   io  compute";
  if (section.has_memory) out << " memory";
  if (!section.baselines.empty())
    out << std::setw(8 * static_cast<int>(section.baselines.size()) + 1) << "speed-up";
  out << '\n';
}

// A figure with a mark, or a dash where there is none.
void write_figure(std::ostream& out, int width, double figure, int digits, const char* mark) {
  std::ostringstream text;
  if (std::isfinite(figure)) {
    text << std::fixed << std::setprecision(digits) << figure << mark;
  } else {
    text << '-';
  }
  out << std::setw(width) << text.str();
}

double speed_up_over(const std::string& name, const Result& result, const Figures& f) {
  for (size_t i = 0; i < result.baselines.size(); ++i) {
    if (result.baselines[i].name == name) return f.speed_ups[i];
  }
  return NAN;
}

void write_row(std::ostream& out, const Section& section, const Result& result, double fma_peak) {
  write_label(out, section, result.name, result.dtype, result.mode);
  if (!result.problem.empty()) {
    // On a line of its own: it may be long.
    out << "   FAILED\n    " << result.problem << '\n';
    return;
  }
  const Figures f = figures(result, fma_peak);
  write_figure(out, 9, f.latency * 1e3, 3, "");
  write_figure(out, 9, f.twin * 1e3, 3, "");
  const bool computes = result.work.ops > 0;
  write_figure(out, 8, computes ? f.flops / 1e9 : NAN, 1, "");
  write_figure(out, 7, f.io_efficiency, 2, f.io_bound ? "*" : " ");
  write_figure(out, 7, computes ? f.compute_efficiency : NAN, 2, f.io_bound ? " " : "*");
  if (section.has_memory) write_figure(out, 7, f.memory_overhead * 100, 1, "%");
  for (const std::string& name : section.baselines) write_figure(out, 8, speed_up_over(name, result, f), 1, "");
  out << '\n';
}

}  // namespace

void write_table(std::ostream& out, const Report& report) {
  write_header(out, report.machine);
  const std::span<const Result> results = report.results;
  for (size_t begin = 0, end = 0; begin < results.size(); begin = end) {
    while (end < results.size() && results[end].op == results[begin].op) ++end;
    const Section section = section_of(results.subspan(begin, end - begin));
    write_title(out, section);
    for (const Result& result : section.results) write_row(out, section, result, report.machine.fma_peak);
  }
  out << "\ntime: median of a call. twin: a loop that streams the bytes that the call must read and write.\n"
         "io: efficiency, twin / time. compute: efficiency, operations / time / FMA peak. *: the binding side,\n"
         "that takes longer at best. memory: workspace and what the library keeps, of the tensors' size.\n"
         "speed-up over serial: the loop of the definition; over gather-sgemm-scatter: three passes on all\n"
         "threads, with oneDNN's sgemm.\n";
}

}  // namespace mluop::perf
