#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <span>
#include <sstream>

#include "perf/support/linearity.h"
#include "perf/support/report.h"
#include "perf/support/section.h"

namespace mluop::perf {
namespace {

void write_header(std::ostream& out, const Machine& machine) {
  out << "mluop-omp " << machine.library << " on " << machine.cpu << ", " << machine.instruction_set;
  if (!machine.simd_limit.empty()) out << " (the library: MLUOP_OMP_SIMD=" << machine.simd_limit << ")";
  out << "\nFMA peak:" << std::fixed << std::setprecision(1);
  const char* separator = " ";
  for (const auto& [threads, peak] : machine.fma_peak) {
    out << separator << peak / 1e9 << " GFLOP/s with " << threads << (threads == 1 ? " thread" : " threads");
    separator = ", ";
  }
  out << '\n';
}

// Columns that say what all cases of a run may have in common.
struct Varied {
  bool size = false, threads = false, cache = false;
};

Varied varied_in(std::span<const Result> results) {
  const Result& first = results.front();
  Varied varied;
  for (const Result& result : results) {
    varied.size |= result.size.name != first.size.name;
    varied.threads |= result.threads != first.threads;
    varied.cache |= result.cache != first.cache;
  }
  return varied;
}

void write_common(std::ostream& out, const Result& result, const Varied& varied) {
  const char* separator = "all cases: ";
  const auto item = [&](const std::string& text) {
    out << separator << text;
    separator = ", ";
  };
  if (!varied.threads) item(std::to_string(result.threads) + (result.threads == 1 ? " thread" : " threads"));
  if (!varied.size) item(result.size.name == "1" ? "network size" : result.size.name + " of the network size");
  if (!varied.cache) item(cache_name(result.cache) + " caches");
  if (*separator == ',') out << '\n';
}

// Of a baseline's speed-up: a single one has the width of its title.
int speed_up_width(const Section& section) { return std::max(9 / static_cast<int>(section.baselines.size()), 6); }

void write_title(std::ostream& out, const Section& section, const Varied& varied) {
  out << '\n' << section.results.front().op;
  const char* separator = "; speed-up over ";
  for (const std::string& name : section.baselines) {
    out << separator << name;
    separator = ", ";
  }
  out << "\n  " << std::left << std::setw(section.name_width) << "case" << std::right;
  if (varied.size) out << std::setw(5) << "size";
  if (varied.threads) out << std::setw(4) << "thr";
  if (varied.cache) out << std::setw(5) << "$";
  out << " time ms   first    twin";
  if (section.has_floor) out << "   floor";
  out << " GFLOP/s   io compute";
  if (section.has_memory) out << " memory";
  if (!section.baselines.empty()) {
    out << std::setw(speed_up_width(section) * static_cast<int>(section.baselines.size())) << "speed-up";
  }
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

void write_row(std::ostream& out, const Section& section, const Varied& varied, const Result& result,
               const std::map<int, double>& fma_peak) {
  out << "  " << std::left << std::setw(section.name_width) << result.name << std::right;
  if (varied.size) out << std::setw(5) << result.size.name;
  if (varied.threads) out << std::setw(4) << result.threads;
  if (varied.cache) out << std::setw(5) << cache_name(result.cache);
  if (!result.problem.empty()) {
    // On a line of its own: it may be long.
    out << "   FAILED\n    " << result.problem << '\n';
    return;
  }
  const Figures f = figures(result, fma_peak);
  write_figure(out, 8, f.latency * 1e3, 3, "");
  write_figure(out, 8, f.first_call * 1e3, 3, "");
  write_figure(out, 8, f.twin * 1e3, 3, "");
  if (section.has_floor) write_figure(out, 8, f.floor * 1e3, 3, "");
  const bool computes = result.work.ops > 0;
  write_figure(out, 8, computes ? f.flops / 1e9 : NAN, 1, "");
  write_figure(out, 6, f.io_efficiency, 2, f.io_bound ? "*" : " ");
  write_figure(out, 7, computes ? f.compute_efficiency : NAN, 2, f.io_bound ? " " : "*");
  if (section.has_memory) write_figure(out, 7, f.memory_overhead * 100, 1, "%");
  for (const std::string& name : section.baselines) {
    write_figure(out, speed_up_width(section), speed_up_over(name, result, f), 1, "");
  }
  out << '\n';
}

void write_section(std::ostream& out, const Section& section, const Varied& varied,
                   const std::map<int, double>& fma_peak) {
  write_title(out, section, varied);
  std::string group;
  for (const Result& result : section.results) {
    const std::string own = result.dtype + ", " + result.mode;
    if (own != group) out << "  - " << own << '\n';
    group = own;
    write_row(out, section, varied, result, fma_peak);
  }
}

}  // namespace

void write_table(std::ostream& out, const Report& report) {
  write_header(out, report.machine);
  const std::vector<Section> sections = sections_of(report.results);
  if (sections.empty()) return;
  const Varied varied = varied_in(report.results);
  write_common(out, report.results.front(), varied);
  for (const Section& section : sections) write_section(out, section, varied, report.machine.fma_peak);
  out << "\nsummary\n";
  for (const Section& section : sections) write_summary(out, section, report.machine.fma_peak);
  write_linearity(out, report.results, report.machine.fma_peak);
  out << "\ntime: median of a call, in ms. first: first call of a handle. twin: a loop that streams the "
         "bytes\n"
         "that the call must read and write. floor: a loop of only what no implementation can leave out that\n"
         "gives each element of the output one owner; all else is prepared. io: efficiency, twin / time.\n"
         "compute: efficiency, operations / time / FMA peak. *: the binding side, that takes longer at best.\n"
         "limit: the longest of twin, floor and operations / FMA peak. memory: workspace and what the library\n"
         "keeps, of the tensors' size. speed-up over serial: the loop of the definition; over\n"
         "gather-sgemm-scatter: three passes on all threads, with oneDNN's sgemm.\n";
  if (varied.size) out << "size: of the case's work, of the network's.\n";
  if (varied.threads) out << "thr: threads.\n";
  if (varied.cache) out << "$: caches; cold: other memory is read and written between the calls.\n";
}

}  // namespace mluop::perf
