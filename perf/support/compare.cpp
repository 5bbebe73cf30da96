#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <utility>

#include "perf/support/report.h"
#include "perf/support/table.h"

namespace mluop::perf {
namespace {

// Half width of the 95 % confidence interval of the logarithm of the median, from order statistics; no
// distribution is assumed.
double half_width(Samples samples) {
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const auto low = static_cast<size_t>(std::max((count - 2 * std::sqrt(count)) / 2, 0.0));
  const double middle = median(samples);
  return std::max(std::log(middle / samples[low]), std::log(samples[samples.size() - 1 - low] / middle));
}

struct Change {
  Change(const Result& from, const Result& to)
      : op(to.op),
        text(title(to, true)),
        old_seconds(median(from.latency)),
        new_seconds(median(to.latency)),
        stream_ratio(Figures(to).stream_bound / Figures(from).stream_bound),
        noise(half_width(from.latency) + half_width(to.latency) + std::abs(std::log(stream_ratio))) {}

  double ratio() const { return new_seconds / old_seconds; }
  bool is_slower() const { return std::log(ratio()) > noise; }
  bool is_faster() const { return std::log(ratio()) < -noise; }

  std::string op, text;
  double old_seconds, new_seconds, stream_ratio, noise;
};

void write_machine(std::ostream& out, const char* label, const Machine& machine) {
  out << label << ": mluop-omp " << machine.library << " on " << machine.cpu << ", " << machine.instruction_set;
  const char* separator = "; GFLOP/s: ";
  for (const auto& [threads, peak] : machine.fma_peak) {
    out << std::exchange(separator, ", ") << figure(peak / 1e9, 1) << " with t" << threads;
  }
  out << '\n';
}

}  // namespace

void write_comparison(std::ostream& out, const Report& old_run, const Report& new_run) {
  const auto key = [](const Result& result) { return std::pair(result.op, title(result, true)); };
  std::map<std::pair<std::string, std::string>, const Result*> old_cases;
  for (const Result& result : old_run.results) {
    if (result.problem.empty()) old_cases.emplace(key(result), &result);
  }
  std::vector<Change> changes;
  for (const Result& result : new_run.results) {
    const auto old_case = old_cases.find(key(result));
    if (result.problem.empty() && old_case != old_cases.end()) changes.emplace_back(*old_case->second, result);
  }
  const std::vector<Column<Change>> columns = {
      name_column("case", changes, &Change::text),
      {"old ms", 10, [](const Change& change) { return figure(change.old_seconds * 1e3, 3); }},
      {"new ms", 10, [](const Change& change) { return figure(change.new_seconds * 1e3, 3); }},
      {"ratio", 7, [](const Change& change) { return figure(change.ratio(), 2); }},
      {"noise", 8, [](const Change& change) { return figure(std::expm1(change.noise) * 100, 0, "%"); }},
      {"stream", 7, [](const Change& change) { return figure(change.stream_ratio, 2); }}};
  write_machine(out, "old", old_run.machine);
  write_machine(out, "new", new_run.machine);
  std::string op;
  for (const Change& change : changes) {
    if (change.op != op) out << '\n' << change.op << '\n' << titles(columns) << '\n';
    op = change.op;
    out << cells(columns, change)
        << (change.is_slower()   ? "  SLOWER"
            : change.is_faster() ? "  faster"
                                 : "")
        << '\n';
  }
  out << '\n'
      << changes.size() << " cases in both: " << std::ranges::count_if(changes, &Change::is_slower) << " slower, "
      << std::ranges::count_if(changes, &Change::is_faster)
      << " faster; not compared: " << old_run.results.size() - changes.size() << " old, "
      << new_run.results.size() - changes.size()
      << " new\n\n"
         "ratio: new / old median latency. noise: largest deviation from 1 explained by noise, from the samples "
         "of\n"
         "both runs and the change of the stream bound. stream: new / old stream bound, the change of the "
         "machine.\n"
         "SLOWER, faster: ratio beyond the noise. t2: 2 threads. x1/2: half the network size.\n";
}

}  // namespace mluop::perf
