#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <span>
#include <utility>

#include "perf/support/report.h"
#include "perf/support/table.h"

namespace mluop::perf {
namespace {

using Columns = std::vector<Column<Result>>;

// A setting that differs between results has a column; otherwise it is stated once.
struct Setting {
  Column<Result> column;
  std::string (*text)(const Result& result);
  const char* legend;

  bool is_varied(std::span<const Result> results) const {
    return std::ranges::any_of(results,
                               [&](const Result& r) { return column.text(r) != column.text(results.front()); });
  }
};

const Setting kSize = {{"size", 5, [](const Result& result) { return result.size.name; }},
                       [](const Result& result) {
                         return result.size.name == "1" ? "network size"
                                                        : result.size.name + " of the network size";
                       },
                       "size: work relative to the network size.\n"};
const Setting kThreads = {{"thr", 4, [](const Result& result) { return std::to_string(result.threads); }},
                          [](const Result& result) { return thread_text(result.threads); },
                          "thr: number of threads.\n"};
const Setting kCaches = {
    {"$", 5, [](const Result& result) { return cache_name(result.cache); }},
    [](const Result& result) { return cache_name(result.cache) + " caches"; },
    "$: caches. warm: operands as the previous call left them; cold: flushed before each call.\n"};

void write_header(std::ostream& out, const Report& report) {
  const Machine& machine = report.machine;
  out << "mluop-omp " << machine.library << " on " << machine.cpu << ", " << machine.instruction_set;
  if (!machine.simd_limit.empty()) out << " (library: MLUOP_OMP_SIMD=" << machine.simd_limit << ")";
  const char* separator = "\nFMA peak: ";
  for (const auto& [threads, peak] : machine.fma_peak) {
    out << std::exchange(separator, ", ") << figure(peak / 1e9, 1) << " GFLOP/s with " << thread_text(threads);
  }
  separator = "\nall cases: ";
  for (const Setting& setting : {kThreads, kSize, kCaches}) {
    if (setting.is_varied(report.results)) continue;
    out << std::exchange(separator, ", ") << setting.text(report.results.front());
  }
  out << '\n';
}

// In 8 columns with at least one space.
std::string milliseconds(double seconds) { return figure(seconds * 1e3, seconds >= 1 ? 1 : 3); }

std::string flops(const Result& result) {
  return figure(result.work.ops > 0 ? static_cast<double>(result.work.ops) / Figures(result).latency / 1e9 : NAN,
                1);
}

std::string io_efficiency(const Result& result) {
  const Figures figures(result);
  return figure(figures.io_efficiency, 2, figures.io_bound() ? "*" : " ");
}

std::string compute_efficiency(const Result& result) {
  const Figures figures(result);
  return figure(result.work.ops > 0 ? figures.compute_efficiency : NAN, 2, figures.io_bound() ? " " : "*");
}

std::string memory_overhead(const Result& result) {
  if (!result.memory) return "-";
  const auto& [tensor_bytes, workspace_bytes, resident_growth] = *result.memory;
  return figure(100.0 * static_cast<double>(workspace_bytes + resident_growth) / static_cast<double>(tensor_bytes),
                1, "%");
}

// The section of the table for one operator.
struct Section {
  Section(std::span<const Result> of_operator, std::span<const Result> all) : results(of_operator) {
    size_t step_width = 0;
    bool has_algorithmic_bound = false, has_memory = false;
    for (const Result& result : results) {
      for (const NamedSamples& step : result.steps) step_width = std::max(step_width, step.name.size() + 2);
      has_algorithmic_bound |= !result.algorithmic_bound.empty();
      has_memory |= result.memory.has_value();
      for (const NamedSamples& baseline : result.baselines) {
        if (std::ranges::find(baselines, baseline.name) == baselines.end()) baselines.push_back(baseline.name);
      }
    }
    settings = {name_column("case", results, &Result::name, step_width)};
    for (const Setting& setting : {kSize, kThreads, kCaches}) {
      if (setting.is_varied(all)) settings.push_back(setting.column);
    }
    figures = {{"latency", 8, [](const Result& r) { return milliseconds(Figures(r).latency); }},
               {"first", 8, [](const Result& r) { return milliseconds(median(r.first_call)); }},
               {"stream", 8, [](const Result& r) { return milliseconds(Figures(r).stream_bound); }}};
    if (has_algorithmic_bound) {
      figures.push_back({"algo", 8, [](const Result& r) { return milliseconds(median(r.algorithmic_bound)); }});
    }
    figures.insert(figures.end(),
                   {{"GFLOP/s", 8, flops}, {"io ", 6, io_efficiency}, {"compute", 7, compute_efficiency}});
    if (has_memory) figures.push_back({"memory", 7, memory_overhead});
    if (baselines.empty()) return;
    // A single speed-up is as wide as the title.
    const int width = std::max(9 / static_cast<int>(baselines.size()), 6);
    figures.push_back(
        {"speed-up", width * static_cast<int>(baselines.size()), [names = baselines, width](const Result& r) {
           std::string text;
           for (const std::string& name : names) text += padded(figure(speed_up(r, name), 1), width);
           return text;
         }});
  }

  std::span<const Result> results;
  std::vector<std::string> baselines;  // of all cases, in the order of first occurrence
  Columns settings, figures;
};

// The operators of a network, and the rest of its latency.
void write_steps(std::ostream& out, const Section& section, const Result& result) {
  if (result.steps.empty()) return;
  double rest = median(result.latency);
  const auto write = [&](const std::string& name, double seconds) {
    out << padded("    " + name, section.settings.front().width) << padded(milliseconds(seconds), 8) << '\n';
    rest -= seconds;
  };
  for (const NamedSamples& step : result.steps) write(step.name, median(step.samples));
  write("dense layers", rest);
}

void write_section(std::ostream& out, const Section& section) {
  out << '\n' << section.results.front().op;
  const char* separator = "; speed-up over ";
  for (const std::string& name : section.baselines) out << std::exchange(separator, ", ") << name;
  out << '\n' << titles(section.settings) << titles(section.figures) << '\n';
  std::string group;
  for (const Result& result : section.results) {
    const std::string dtype_and_algorithm = result.dtype + ", " + result.algorithm;
    if (dtype_and_algorithm != group) out << "  - " << dtype_and_algorithm << '\n';
    group = dtype_and_algorithm;
    out << cells(section.settings, result);
    if (result.problem.empty()) {
      out << cells(section.figures, result) << '\n';
      if (result.is_disturbed()) out << "    " << disturbance_text(result) << '\n';
      write_steps(out, section, result);
    } else {
      // On a separate line, as it may be long.
      out << "   FAILED\n    " << result.problem << '\n';
    }
  }
}

double geometric_mean(const Samples& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

// Summarizes the cases of a section (only native ones, if there are any) in at most two lines.
void write_summary(std::ostream& out, const Section& section) {
  std::vector<Result> verified, summarized;
  std::ranges::copy_if(section.results, std::back_inserter(verified), &std::string::empty, &Result::problem);
  std::ranges::copy_if(verified, std::back_inserter(summarized),
                       [](const Result& result) { return result.algorithm == "native"; });
  const bool native = !summarized.empty();
  if (!native) summarized = verified;
  // The finite values of a figure.
  const auto all = [&](const auto& value_of) {
    Samples values;
    std::ranges::transform(summarized, std::back_inserter(values), value_of);
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    return values;
  };
  out << padded(section.results.front().op, -36) << verified.size() << " of " << section.results.size()
      << " verified";
  const auto efficiencies = all([](const Result& result) { return Figures(result).binding_efficiency(); });
  if (!efficiencies.empty()) {
    const auto [min, max] = std::ranges::minmax(efficiencies);
    out << (native ? "; native: " : "; ") << "efficiency " << figure(min, 2) << " to " << figure(max, 2)
        << ", median " << figure(median(efficiencies), 2);
  }
  const char* separator = "\n    mean speed-up over ";
  const auto max_bounds = all([](const Result& result) { return Figures(result).max_bound_efficiency; });
  if (!max_bounds.empty()) {
    out << "\n    max bound / latency: median " << figure(median(max_bounds), 2);
    separator = "; mean speed-up over ";
  }
  for (const std::string& name : section.baselines) {
    const auto speed_ups = all([&](const Result& result) { return speed_up(result, name); });
    if (speed_ups.empty()) continue;
    out << std::exchange(separator, ", over ") << name << ' ' << figure(geometric_mean(speed_ups), 1);
  }
  out << '\n';
}

constexpr double kTolerance = 0.15;
constexpr double kNetworkSize = 1;
constexpr int kColumnWidth = 13;

// The results of a case, by size factor.
struct Sweep {
  std::string op, text;
  std::map<double, const Result*> results;
};

std::vector<Sweep> sweeps_of(std::span<const Result> results) {
  std::vector<Sweep> sweeps;
  for (const Result& result : results) {
    if (!result.problem.empty()) continue;
    const std::string text = title(result, false);
    auto sweep = std::ranges::find_if(
        sweeps, [&](const Sweep& other) { return other.op == result.op && other.text == text; });
    if (sweep == sweeps.end()) sweep = sweeps.insert(sweep, {result.op, text, {}});
    sweep->results.emplace(result.size.factor, &result);
  }
  std::erase_if(sweeps, [](const Sweep& s) { return s.results.size() == 1 || !s.results.contains(kNetworkSize); });
  return sweeps;
}

double work_of(const Result& result, bool io_bound) {
  return static_cast<double>(io_bound ? result.work.read_bytes + result.work.write_bytes : result.work.ops);
}

// "1.02 (0.98)"
std::string ratios(const Result& result, const Result& base) {
  const Figures found(result), expected(base);
  const bool io_bound = expected.io_bound();
  const double by_work = found.latency / work_of(result, io_bound) * work_of(base, io_bound) / expected.latency;
  const double by_stream = expected.io_efficiency / found.io_efficiency;
  // An operator that is linear but partly memory-bound has one ratio above 1 and the other below.
  const auto [low, high] = std::minmax(by_work, by_stream);
  const bool linear = low <= 1 + kTolerance && high >= 1 - kTolerance;
  return figure(by_work, 2) + " (" + figure(by_stream, 2, ")") + (linear ? " " : "!");
}

// For each case measured at size 1 and at other sizes, writes latency / work and latency / stream bound relative
// to size 1. Work is operations if they bind at size 1, otherwise bytes of inputs and outputs. Marks entries in
// which both ratios are above 1, or both below, by more than 15 %. Writes nothing if there is no such case. Four
// other sizes take 100 columns.
void write_linearity(std::ostream& out, std::span<const Result> results) {
  const std::vector<Sweep> sweeps = sweeps_of(results);
  if (sweeps.empty()) return;
  std::map<double, std::string> sizes;
  for (const Sweep& sweep : sweeps) {
    for (const auto& [factor, result] : sweep.results) sizes.emplace(factor, result->size.name);
  }
  sizes.erase(kNetworkSize);
  std::vector<Column<Sweep>> columns = {name_column("", sweeps, &Sweep::text)};
  for (const auto& [factor, name] : sizes) {
    columns.push_back({name + ' ', kColumnWidth, [size = factor](const Sweep& sweep) -> std::string {
                         const auto found = sweep.results.find(size);
                         if (found == sweep.results.end()) return "- ";
                         return ratios(*found->second, *sweep.results.at(kNetworkSize));
                       }});
  }
  out << "\nlinearity: latency / work and, in parentheses, latency / stream bound, relative to size 1\n"
      << titles(columns) << '\n';
  std::string op;
  for (const Sweep& sweep : sweeps) {
    if (sweep.op != op) out << "  - " << sweep.op << '\n';
    op = sweep.op;
    out << cells(columns, sweep) << '\n';
  }
  out << "!: both ratios are above 1, or both below, by more than 15 %. Above 1 at a small size: constant "
         "costs.\n";
}

}  // namespace

void write_table(std::ostream& out, const Report& report) {
  const std::span<const Result> results = report.results;
  write_header(out, report);
  std::vector<Section> sections;
  for (size_t begin = 0, end = 0; begin < results.size(); begin = end) {
    while (end < results.size() && results[end].op == results[begin].op) ++end;
    write_section(out, sections.emplace_back(results.subspan(begin, end - begin), results));
  }
  out << "\nsummary\n";
  for (const Section& section : sections) write_summary(out, section);
  write_linearity(out, results);
  out << "\nTimes are medians in ms. latency: time of a call. first: latency of the first call of a handle.\n"
         "stream: stream bound, the time to stream the compulsory bytes of the call. algo: algorithmic bound,\n"
         "the time of the steps that the algorithm cannot avoid. io: efficiency, stream bound / latency.\n"
         "compute: efficiency, compute bound (operations / FMA peak) / latency. *: the bound with the larger\n"
         "minimum time. max bound: the largest of stream, compute and algorithmic bound. memory: workspace and\n"
         "memory that the library keeps, relative to the tensors. serial: the serial loop of the definition.\n"
         "gather-sgemm-scatter: three passes on all threads, with oneDNN's sgemm.\n"
         "dense layers: the latency of a network without its operators.\n";
  for (const Setting& setting : {kSize, kThreads, kCaches}) {
    if (setting.is_varied(results)) out << setting.legend;
  }
}

}  // namespace mluop::perf
