#include <algorithm>
#include <map>
#include <ostream>
#include <string_view>
#include <vector>

#include "perf/support/report.h"
#include "perf/support/table.h"

namespace mluop::perf {
namespace {

// A limit that is reached by less does not explain the latency.
constexpr double kNoLimit = 0.1;

// "voxel_pooling_forward" -> "voxel pooling"; a gradient keeps its name: "voxel pooling backward".
std::string words(std::string op) {
  for (const std::string_view end : {"_v2", "_forward"}) {
    if (op.ends_with(end)) op.resize(op.size() - end.size());
  }
  std::ranges::replace(op, '_', ' ');
  return op;
}

// The operators of a family share the name up to "_forward" or "_backward".
std::string family_of(const Result& result) {
  if (result.op == kNetworks) return result.op + result.name;
  return result.op.substr(0, std::min(result.op.find("_forward"), result.op.find("_backward")));
}

std::string time_text(double seconds) {
  if (seconds >= 1) return figure(seconds, 1, " s");
  return seconds >= 1e-3 ? figure(seconds * 1e3, 1, " ms") : figure(seconds * 1e6, 0, " us");
}

bool is_gradient(const Result& result) { return result.op.find("_backward") != std::string::npos; }

std::string limit_text(const Result& result) {
  const Figures figures(result);
  const double reached = figures.limit_efficiency();
  if (!(reached >= kNoLimit)) return {};
  return ", " + figure(reached, 2) +
         (figures.algorithm_bound() ? " of the limit of its steps"
          : figures.io_bound()      ? " of the memory limit"
                                    : " of the FMA peak");
}

// "6.0 times as fast as the serial loop", over the fastest baseline.
std::string baseline_text(const Result& result) {
  const auto fastest = std::ranges::min_element(
      result.baselines, {}, [](const NamedSamples& baseline) { return median(baseline.samples); });
  if (fastest == result.baselines.end()) return {};
  const std::string name = fastest->name == "serial" ? "the serial loop" : fastest->name;
  return ", " + figure(speed_up(result, fastest->name), 1) + " times as fast as " + name;
}

std::string line_of(const Result& result) {
  const bool is_network = result.op == kNetworks;
  const std::string name = is_network ? result.name : words(result.op) + ", " + result.name;
  if (!result.problem.empty()) return name + ": FAILED, see the table";
  std::string text = name + ": " + time_text(median(result.latency));
  if (is_network) {
    double seconds = 0;
    for (const NamedSamples& step : result.steps) seconds += median(step.samples);
    return text + ", " + figure(seconds / median(result.latency) * 100, 0, "%") + " of it in operators";
  }
  return text + limit_text(result) + baseline_text(result);
}

}  // namespace

std::string disturbance_text(const Result& result) {
  return "the machine was busy: other processes used " + figure(result.other_load, 1) + " processors";
}

void write_lines(std::ostream& out, const Report& report) {
  std::vector<std::string> families;
  std::map<std::string, const Result*> first;  // of each family: its first forward operator, if it has one
  for (const Result& result : report.results) {
    const auto [found, added] = first.emplace(family_of(result), &result);
    if (added) families.push_back(found->first);
    if (is_gradient(*found->second) && !is_gradient(result)) found->second = &result;
  }
  bool exceeds_limit = false;
  for (const std::string& family : families) {
    const Result& result = *first.at(family);
    out << line_of(result) << '\n';
    if (result.is_disturbed()) out << "    " << disturbance_text(result) << '\n';
    exceeds_limit |= result.problem.empty() && Figures(result).limit_efficiency() > 1.05;
  }
  if (exceeds_limit) {
    out << "\nMore than 1 of a limit: the operator skips operations that its definition counts, or finds data\n"
           "of the previous call in the caches.\n";
  }
  const auto disturbed = std::ranges::count_if(report.results, &Result::is_disturbed);
  if (disturbed > 0) {
    out << '\n'
        << disturbed << " of " << report.results.size()
        << " measurements were disturbed by other processes, twice each: their times are too long.\n";
  }
  out << '\n';
}

}  // namespace mluop::perf
