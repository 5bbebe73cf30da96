#include "perf/support/linearity.h"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace mluop::perf {
namespace {

constexpr double kTolerance = 0.15;
constexpr int kColumnWidth = 13;
constexpr double kNetworkSize = 1;

// Names of the columns, by size factor.
using Sizes = std::map<double, std::string>;

// The results of a case, by size factor.
struct Sweep {
  std::string op, text;
  std::map<double, const Result*> results;
};

std::string text_of(const Result& result) {
  std::string text =
      result.name + ' ' + result.dtype + ' ' + result.algorithm + " t" + std::to_string(result.threads);
  return result.cache == Cache::kWarm ? text : text + ' ' + cache_name(result.cache);
}

std::vector<Sweep> sweeps_of(std::span<const Result> results) {
  std::vector<Sweep> sweeps;
  for (const Result& result : results) {
    if (!result.problem.empty()) continue;
    const std::string text = text_of(result);
    auto sweep = std::find_if(sweeps.begin(), sweeps.end(),
                              [&](const Sweep& other) { return other.op == result.op && other.text == text; });
    if (sweep == sweeps.end()) sweep = sweeps.insert(sweep, {result.op, text, {}});
    sweep->results.emplace(result.size.factor, &result);
  }
  std::erase_if(sweeps, [](const Sweep& s) { return s.results.size() == 1 || !s.results.contains(kNetworkSize); });
  return sweeps;
}

Sizes other_sizes(const std::vector<Sweep>& sweeps) {
  Sizes sizes;
  for (const Sweep& sweep : sweeps) {
    for (const auto& [factor, result] : sweep.results) sizes.emplace(factor, result->size.name);
  }
  sizes.erase(kNetworkSize);
  return sizes;
}

double work_of(const Result& result, bool io_bound) {
  return static_cast<double>(io_bound ? result.work.read_bytes + result.work.write_bytes : result.work.ops);
}

// "1.02 (0.98)"
std::string ratios(const Result& result, const Result& base, const std::map<int, double>& fma_peak) {
  const Figures found = figures(result, fma_peak), expected = figures(base, fma_peak);
  const bool io_bound = expected.io_bound;
  const double by_work = found.latency / work_of(result, io_bound) * work_of(base, io_bound) / expected.latency;
  const double by_stream = expected.io_efficiency / found.io_efficiency;
  // A linear operator that is memory-bound for a part of its time has one ratio above 1 and the other below.
  const auto [low, high] = std::minmax(by_work, by_stream);
  const bool linear = low <= 1 + kTolerance && high >= 1 - kTolerance;
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << by_work << " (" << by_stream << ')' << (linear ? ' ' : '!');
  return text.str();
}

}  // namespace

void write_linearity(std::ostream& out, std::span<const Result> results, const std::map<int, double>& fma_peak) {
  const std::vector<Sweep> sweeps = sweeps_of(results);
  if (sweeps.empty()) return;
  size_t width = 0;
  for (const Sweep& sweep : sweeps) width = std::max(width, sweep.text.size());
  const Sizes sizes = other_sizes(sweeps);
  out << "\nlinearity: latency / work and, in parentheses, latency / stream bound, relative to size 1\n  "
      << std::setw(static_cast<int>(width)) << "";
  for (const auto& [factor, name] : sizes) out << std::setw(kColumnWidth) << name + ' ';
  out << '\n';
  std::string op;
  for (const Sweep& sweep : sweeps) {
    if (sweep.op != op) out << "  - " << sweep.op << '\n';
    op = sweep.op;
    out << "  " << std::left << std::setw(static_cast<int>(width)) << sweep.text << std::right;
    for (const auto& [factor, name] : sizes) {
      const auto found = sweep.results.find(factor);
      out << std::setw(kColumnWidth)
          << (found == sweep.results.end() ? "- "
                                           : ratios(*found->second, *sweep.results.at(kNetworkSize), fma_peak));
    }
    out << '\n';
  }
  out << "!: both ratios are above 1, or both below, by more than 15 %. Above 1 at a small size: constant "
         "costs.\n";
}

}  // namespace mluop::perf
