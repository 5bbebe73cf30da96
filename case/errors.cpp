#include "case/errors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <utility>

#include "case/comparison.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

Dims position_of(int64_t index, const Dims& dims) {
  Dims position(dims.size());
  for (size_t dim = dims.size(); dim > 0; --dim) {
    position[dim - 1] = index % dims[dim - 1];
    index /= dims[dim - 1];
  }
  return position;
}

// The shape and the axes of complex elements as pairs. A descriptor has no room for another dimension after the
// last possible one: the leading dimensions are combined.
std::pair<Dims, std::vector<std::string>> with_parts(const Dims& dims, const std::vector<std::string>& axes) {
  if (dims.size() == MLUOP_DIM_MAX) {
    return {{std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()), 2}, {"", "part"}};
  }
  std::pair<Dims, std::vector<std::string>> pairs(dims, axes);
  pairs.first.push_back(2);
  pairs.second.resize(dims.size());
  pairs.second.emplace_back("part");
  return pairs;
}

}  // namespace

ErrorReport errors_of(const Results& results, const Dims& dims, const std::vector<std::string>& axes,
                      double tolerance, size_t worst_count) {
  if (is_complex(results.dtype)) {
    const auto [shape, names] = with_parts(dims, axes);
    return errors_of(results.as_real(), shape, names, tolerance, worst_count);
  }
  mluOpOmpCompareOptions_t options = Comparison::bits_of(results);
  options.worst = 0;
  const double mean = tolerance > 0 ? Comparison(results, dims, options).difference().mean_magnitude : 0;
  if (tolerance > 0 && std::isfinite(tolerance) && std::isfinite(tolerance * mean)) {
    options.bits = 0;
    options.rtol = tolerance;
    options.atol = tolerance * mean;
    ErrorReport report = errors_of(results, dims, axes, options, worst_count);
    if (report.wrong > 0) return report;
    // If each error is below the tolerance but their sum exceeds it, all errors are shown.
    options.bits = 1;
  }
  return errors_of(results, dims, axes, options, worst_count);
}

ErrorReport errors_of(const Results& results, const Dims& dims, const std::vector<std::string>& axes,
                      mluOpOmpCompareOptions_t options, size_t worst_count) {
  if (is_complex(results.dtype)) {
    const auto [shape, names] = with_parts(dims, axes);
    return errors_of(results.as_real(), shape, names, options, worst_count);
  }
  std::vector<const char*> names(dims.size(), nullptr);
  for (size_t dim = 0; dim < std::min(dims.size(), axes.size()); ++dim) {
    if (!axes[dim].empty()) names[dim] = axes[dim].c_str();
  }
  options.axes = names.data();
  // The pattern requires at least one.
  options.worst = static_cast<int>(std::max<size_t>(worst_count, 1));
  const Comparison comparison(results, dims, options);
  ErrorReport report{.figures = comparison.difference(), .distribution = comparison.pattern()};
  report.wrong = report.figures.wrong;
  report.total = report.figures.elements;
  if (report.wrong == 0) report.distribution = "no element";
  for (const mluOpOmpWrongElement_t& element : comparison.worst(worst_count)) {
    report.worst.push_back(
        {position_of(element.index, dims), element.expected, element.found, element.absolute, element.relative});
  }
  return report;
}

std::string text_of(const ErrorReport& report, const std::string& indent) {
  std::string text = indent + std::to_string(report.wrong) + " of " + std::to_string(report.total) +
                     " elements are wrong; distribution: " + report.distribution + '\n';
  if (report.worst.empty()) return text;
  char line[200];
  std::snprintf(line, sizeof(line), "%-20s %16s %16s %11s %11s\n", "index", "expected", "found", "absolute",
                "relative");
  text += indent + line;
  for (const WrongElement& element : report.worst) {
    std::snprintf(line, sizeof(line), "%-20s %16s %16s %11.3g %11.3g\n", text_of(element.position).c_str(),
                  text_of(element.expected, kElementDigits).c_str(),
                  text_of(element.found, kElementDigits).c_str(), element.absolute, element.relative);
    text += indent + line;
  }
  return text;
}

}  // namespace mluop::cases
