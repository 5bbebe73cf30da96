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
  if (!machine.simd_limit.empty()) out << " (library: MLUOP_OMP_SIMD=" << machine.simd_limit << ")";
  out << "\nFMA peak:" << std::fixed << std::setprecision(1);
  const char* separator = " ";
  for (const auto& [threads, peak] : machine.fma_peak) {
    out << separator << peak / 1e9 << " GFLOP/s with " << threads << (threads == 1 ? " thread" : " threads");
    separator = ", ";
  }
  out << '\n';
}

// Settings that differ between the results; each has a column.
struct Varied {
  bool size = false, threads = false, cache = false;
};

Varied varied_in(std::span<const Result> results) {
  Varied varied;
  const Result& first = results.front();
  for (const Result& result : results) {
    varied.size |= result.size.name != first.size.name;
    varied.threads |= result.threads != first.threads;
    varied.cache |= result.cache != first.cache;
  }
  return varied;
}

void write_common(std::ostream& out, const Result& result, const Varied& varied) {
  const char* separator = "all cases: ";
  const auto write = [&](const std::string& text) {
    out << separator << text;
    separator = ", ";
  };
  if (!varied.threads) write(std::to_string(result.threads) + (result.threads == 1 ? " thread" : " threads"));
  if (!varied.size) write(result.size.name == "1" ? "network size" : result.size.name + " of the network size");
  if (!varied.cache) write(cache_name(result.cache) + " caches");
  if (*separator == ',') out << '\n';
}

// Width of a speed-up; a single one takes the width of the column title.
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
  out << " latency   first  stream";
  if (section.has_algorithmic_bound) out << "    algo";
  out << " GFLOP/s   io compute";
  if (section.has_memory) out << " memory";
  if (!section.baselines.empty()) {
    out << std::setw(speed_up_width(section) * static_cast<int>(section.baselines.size())) << "speed-up";
  }
  out << '\n';
}

// Writes a figure followed by a mark, or a dash for NaN.
void write_figure(std::ostream& out, int width, double figure, int digits, const char* mark) {
  std::ostringstream text;
  if (std::isfinite(figure)) {
    text << std::fixed << std::setprecision(digits) << figure << mark;
  } else {
    text << '-';
  }
  out << std::setw(width) << text.str();
}

// Seconds as milliseconds, in 8 columns with at least one space.
void write_milliseconds(std::ostream& out, double seconds) {
  write_figure(out, 8, seconds * 1e3, seconds >= 1 ? 1 : 3, "");
}

void write_row(std::ostream& out, const Section& section, const Varied& varied, const Result& result,
               const std::map<int, double>& fma_peak) {
  out << "  " << std::left << std::setw(section.name_width) << result.name << std::right;
  if (varied.size) out << std::setw(5) << result.size.name;
  if (varied.threads) out << std::setw(4) << result.threads;
  if (varied.cache) out << std::setw(5) << cache_name(result.cache);
  if (!result.problem.empty()) {
    // On a separate line, as it may be long.
    out << "   FAILED\n    " << result.problem << '\n';
    return;
  }
  const Figures f = figures(result, fma_peak);
  write_milliseconds(out, f.latency);
  write_milliseconds(out, f.first_call);
  write_milliseconds(out, f.stream_bound);
  if (section.has_algorithmic_bound) write_milliseconds(out, f.algorithmic_bound);
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

// The operators of a network, and the rest of its latency.
void write_steps(std::ostream& out, const Section& section, const Result& result) {
  double rest = median(result.latency);
  const auto write = [&](const std::string& name, double seconds) {
    out << "    " << std::left << std::setw(section.name_width - 2) << name << std::right;
    write_milliseconds(out, seconds);
    out << '\n';
  };
  for (const NamedSamples& step : result.steps) {
    const double seconds = median(step.samples);
    write(step.name, seconds);
    rest -= seconds;
  }
  if (!result.steps.empty()) write("dense layers", rest);
}

void write_section(std::ostream& out, const Section& section, const Varied& varied,
                   const std::map<int, double>& fma_peak) {
  write_title(out, section, varied);
  std::string group;
  for (const Result& result : section.results) {
    const std::string dtype_and_algorithm = result.dtype + ", " + result.algorithm;
    if (dtype_and_algorithm != group) out << "  - " << dtype_and_algorithm << '\n';
    group = dtype_and_algorithm;
    write_row(out, section, varied, result, fma_peak);
    write_steps(out, section, result);
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
  out << "\nTimes are medians in ms. latency: time of a call. first: latency of the first call of a handle.\n"
         "stream: stream bound, the time to stream the compulsory bytes of the call. algo: algorithmic bound,\n"
         "the time of the steps that the algorithm cannot avoid. io: efficiency, stream bound / latency.\n"
         "compute: efficiency, compute bound (operations / FMA peak) / latency. *: the bound with the larger\n"
         "minimum time. max bound: the largest of stream, compute and algorithmic bound. memory: workspace and\n"
         "memory that the library keeps, relative to the tensors. serial: the serial loop of the definition.\n"
         "gather-sgemm-scatter: three passes on all threads, with oneDNN's sgemm.\n"
         "dense layers: the latency of a network without its operators.\n";
  if (varied.size) out << "size: work relative to the network size.\n";
  if (varied.threads) out << "thr: number of threads.\n";
  if (varied.cache) {
    out << "$: caches. warm: operands as the previous call left them; cold: flushed before each call.\n";
  }
}

}  // namespace mluop::perf
