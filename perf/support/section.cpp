#include "perf/support/section.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <ostream>

namespace mluop::perf {
namespace {

Section section_of(std::span<const Result> results) {
  Section section;
  section.results = results;
  for (const Result& result : results) {
    section.name_width = std::max(section.name_width, static_cast<int>(result.name.size()));
    for (const NamedSamples& step : result.steps) {
      section.name_width = std::max(section.name_width, static_cast<int>(step.name.size()) + 2);
    }
    section.has_algorithmic_bound |= !result.algorithmic_bound.empty();
    section.has_memory |= result.memory.has_value();
    for (const NamedSamples& baseline : result.baselines) {
      auto& names = section.baselines;
      if (std::find(names.begin(), names.end(), baseline.name) == names.end()) names.push_back(baseline.name);
    }
  }
  return section;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace

std::vector<Section> sections_of(std::span<const Result> results) {
  std::vector<Section> sections;
  for (size_t begin = 0, end = 0; begin < results.size(); begin = end) {
    while (end < results.size() && results[end].op == results[begin].op) ++end;
    sections.push_back(section_of(results.subspan(begin, end - begin)));
  }
  return sections;
}

double speed_up_over(const std::string& name, const Result& result, const Figures& figures) {
  for (size_t i = 0; i < result.baselines.size(); ++i) {
    if (result.baselines[i].name == name) return figures.speed_ups[i];
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void write_summary(std::ostream& out, const Section& section, const std::map<int, double>& fma_peak) {
  const auto& results = section.results;
  const auto verified =
      std::count_if(results.begin(), results.end(), [](const Result& r) { return r.problem.empty(); });
  out << std::left << std::setw(36) << results.front().op << std::right << verified << " of " << results.size()
      << " verified";
  const bool native = std::any_of(results.begin(), results.end(),
                                  [](const Result& r) { return r.problem.empty() && r.algorithm == "native"; });
  std::vector<double> efficiencies, max_bound_efficiencies;
  std::vector<std::vector<double>> speed_ups(section.baselines.size());
  for (const Result& result : results) {
    if (!result.problem.empty() || (native && result.algorithm != "native")) continue;
    const Figures f = figures(result, fma_peak);
    efficiencies.push_back(f.binding_efficiency);
    if (std::isfinite(f.max_bound_efficiency)) max_bound_efficiencies.push_back(f.max_bound_efficiency);
    for (size_t i = 0; i < speed_ups.size(); ++i) {
      const double speed_up = speed_up_over(section.baselines[i], result, f);
      if (std::isfinite(speed_up)) speed_ups[i].push_back(speed_up);
    }
  }
  if (!efficiencies.empty()) {
    const auto [min, max] = std::minmax_element(efficiencies.begin(), efficiencies.end());
    out << (native ? "; native: " : "; ") << "efficiency " << std::fixed << std::setprecision(2) << *min << " to "
        << *max << ", median " << median(efficiencies);
  }
  const char* separator = "\n    mean speed-up over ";
  if (!max_bound_efficiencies.empty()) {
    out << "\n    max bound / latency: median " << std::setprecision(2) << median(max_bound_efficiencies);
    separator = "; mean speed-up over ";
  }
  for (size_t i = 0; i < speed_ups.size(); ++i) {
    if (speed_ups[i].empty()) continue;
    out << separator << section.baselines[i] << ' ' << std::setprecision(1) << geometric_mean(speed_ups[i]);
    separator = ", over ";
  }
  out << '\n';
}

}  // namespace mluop::perf
