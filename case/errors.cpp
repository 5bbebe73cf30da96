#include "case/errors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>

#include "case/values.h"

namespace mluop::cases {
namespace {

int64_t count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

Dims position_of(int64_t index, const Dims& dims) {
  Dims position(dims.size());
  for (size_t dim = dims.size(); dim > 0; --dim) {
    position[dim - 1] = index % dims[dim - 1];
    index /= dims[dim - 1];
  }
  return position;
}

// Infinite for a NaN or an infinity that the other side does not have.
double error_of(const Results& results, size_t i) {
  const double e = results.e(i), b = results.b(i);
  if (is_finite_pair(e, b)) return std::abs(e - b);
  return is_same_special(e, b) ? 0 : HUGE_VAL;
}

double mean_magnitude(const Results& results) {
  double sum = 0;
  for (size_t i = 0; i < results.count; ++i) {
    const double b = std::abs(results.b(i));
    if (std::isfinite(b)) sum += b;
  }
  return results.count == 0 ? 0 : sum / static_cast<double>(results.count);
}

std::vector<int64_t> wrong_elements(const Results& results, double tolerance) {
  std::vector<int64_t> wrong;
  const double mean = tolerance > 0 ? mean_magnitude(results) : 0;
  for (size_t i = 0; i < results.count; ++i) {
    const double b = std::abs(results.b(i));
    const double allowed = tolerance * std::max(std::isfinite(b) ? b : 0, mean);
    const bool differs = tolerance > 0 ? error_of(results, i) > allowed : !results.same_bits(i);
    if (differs) wrong.push_back(static_cast<int64_t>(i));
  }
  return wrong;
}

// The wrong elements by their index along one dimension.
struct Axis {
  std::string name;
  size_t dim;
  int64_t extent;
  std::vector<int64_t> hit;  // the indices of wrong elements, ascending
  int64_t slice;             // elements with one index

  bool restricted() const { return static_cast<int64_t>(hit.size()) < extent; }
  bool contiguous() const { return hit.back() - hit.front() + 1 == static_cast<int64_t>(hit.size()); }
  int64_t hits() const { return static_cast<int64_t>(hit.size()); }
  std::string dim_text() const { return " (dim " + std::to_string(dim) + ")"; }
};

std::vector<Axis> axes_of(const std::vector<int64_t>& wrong, const Dims& dims,
                          const std::vector<std::string>& names) {
  std::vector<std::vector<char>> seen;
  for (const int64_t extent : dims) seen.emplace_back(static_cast<size_t>(extent), 0);
  for (const int64_t index : wrong) {
    const Dims position = position_of(index, dims);
    for (size_t dim = 0; dim < dims.size(); ++dim) seen[dim][static_cast<size_t>(position[dim])] = 1;
  }
  std::vector<Axis> axes;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    if (dims[dim] == 1) continue;
    Axis axis{dim < names.size() ? names[dim] : "index", dim, dims[dim], {}, count_of(dims) / dims[dim]};
    for (int64_t i = 0; i < axis.extent; ++i) {
      if (seen[dim][static_cast<size_t>(i)] != 0) axis.hit.push_back(i);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

// Whether `count` elements at random would not all have one index of the axis.
bool is_significant(int64_t count, const Axis& axis) {
  constexpr double kOddsAgainst = 1000;
  return count == axis.slice ||
         static_cast<double>(count - 1) * std::log(static_cast<double>(axis.extent)) >= std::log(kOddsAgainst);
}

std::string of_its(int64_t wrong, int64_t elements, const char* its) {
  return ", " + std::to_string(wrong) + " of " + its + ' ' + std::to_string(elements) + " elements";
}

std::string list_of(const Axis& axis) {
  constexpr int64_t kMaxListed = 8;
  if (axis.hits() > 1 && axis.contiguous()) {
    return std::to_string(axis.hit.front()) + " to " + std::to_string(axis.hit.back());
  }
  std::vector<std::string> listed;
  for (int64_t i = 0; i < std::min(axis.hits(), kMaxListed); ++i) {
    listed.push_back(std::to_string(axis.hit[static_cast<size_t>(i)]));
  }
  if (axis.hits() > kMaxListed) listed.emplace_back("...");
  return joined(listed);
}

// One index of an axis, if it is the only such axis.
std::string one_index(const std::vector<Axis>& axes, int64_t count) {
  const Axis* found = nullptr;
  for (const Axis& axis : axes) {
    if (axis.hits() != 1) continue;
    if (found != nullptr) return "";
    found = &axis;
  }
  if (found == nullptr || count < 2 || !is_significant(count, *found)) return "";
  return "one " + found->name + ": " + std::to_string(found->hit.front()) + " of " +
         std::to_string(found->extent) + found->dim_text() + of_its(count, found->slice, "its");
}

// A dense box of at most three quarters of the extent in several dimensions.
std::string tile(const std::vector<Axis>& axes, int64_t count, size_t rank) {
  int64_t volume = 1;
  size_t restricted = 0;
  std::vector<std::string> ranges(rank, "0");
  for (const Axis& axis : axes) {
    volume *= axis.hit.back() - axis.hit.front() + 1;
    if ((axis.hit.back() - axis.hit.front() + 1) * 4 <= axis.extent * 3) ++restricted;
    ranges[axis.dim] = std::to_string(axis.hit.front()) + ':' + std::to_string(axis.hit.back() + 1);
  }
  constexpr int64_t kFew = 4;
  if (count <= kFew || restricted < 2 || count < volume / 2) return "";
  return "a tile: [" + joined(ranges) + ']' + of_its(count, volume, "its");
}

// Indices of an axis at a constant distance, such as one lane of vectors.
std::string stride(const std::vector<Axis>& axes, int64_t count) {
  for (const Axis& axis : axes) {
    constexpr int64_t kMinHits = 3;
    if (axis.hits() < kMinHits) continue;
    int64_t distance = 0;
    for (const int64_t index : axis.hit) distance = std::gcd(distance, index - axis.hit.front());
    const int64_t first = axis.hit.front() % distance;
    const int64_t possible = (axis.extent - first + distance - 1) / distance;
    if (distance < 2 || axis.hits() < (possible + 1) / 2) continue;
    return "every " + std::to_string(distance) +
           (distance == 2   ? "nd "
            : distance == 3 ? "rd "
                            : "th ") +
           axis.name + " from " + std::to_string(first) + axis.dim_text() +
           of_its(count, axis.hits() * axis.slice, "their");
  }
  return "";
}

// Several indices of one axis, each with several wrong elements.
std::string some_indices(const std::vector<Axis>& axes, int64_t count) {
  constexpr int64_t kElementsForEach = 4;
  const Axis* found = nullptr;
  for (const Axis& axis : axes) {
    if (axis.hits() * 2 > axis.extent || count < kElementsForEach * axis.hits()) continue;
    if (found == nullptr || axis.hits() * found->extent < found->hits() * axis.extent) found = &axis;
  }
  if (found == nullptr) return "";
  return std::to_string(found->hits()) + " of " + std::to_string(found->extent) + " indices of " + found->name +
         ": " + list_of(*found) + found->dim_text() + of_its(count, found->hits() * found->slice, "their");
}

}  // namespace

std::string distribution_of(const std::vector<int64_t>& wrong, const Dims& dims,
                            const std::vector<std::string>& names) {
  const int64_t total = count_of(dims);
  const auto count = static_cast<int64_t>(wrong.size());
  if (count == 0) return "no element";
  if (count * 10 >= total * 9) return "everything" + of_its(count, total, "all");
  const std::vector<Axis> axes = axes_of(wrong, dims, names);
  for (const std::string& text :
       {tile(axes, count, dims.size()), one_index(axes, count), stride(axes, count), some_indices(axes, count)}) {
    if (!text.empty()) return text;
  }
  constexpr int64_t kFew = 16;
  if (count <= kFew) return count == 1 ? "one element" : "a few elements: " + std::to_string(count);
  return "scattered: " + text_of(100 * static_cast<double>(count) / static_cast<double>(total), 2) +
         " % of all elements, in no pattern";
}

ErrorReport errors_of(const Results& results, const Dims& dims, const std::vector<std::string>& axes,
                      double tolerance, size_t worst_count) {
  ErrorReport report;
  std::vector<int64_t> wrong = wrong_elements(results, tolerance);
  if (wrong.empty() && tolerance > 0) wrong = wrong_elements(results, 0);
  report.wrong = static_cast<int64_t>(wrong.size());
  report.total = static_cast<int64_t>(results.count);
  report.distribution = distribution_of(wrong, dims, axes);
  const size_t shown = std::min(worst_count, wrong.size());
  std::partial_sort(wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(shown), wrong.end(),
                    [&](int64_t i, int64_t j) {
                      const double a = error_of(results, static_cast<size_t>(i));
                      const double b = error_of(results, static_cast<size_t>(j));
                      return a != b ? a > b : i < j;
                    });
  for (size_t k = 0; k < shown; ++k) {
    const auto i = static_cast<size_t>(wrong[k]);
    const double absolute = error_of(results, i), size = std::abs(results.b(i));
    const double relative = absolute == 0 ? 0 : size == 0 || std::isinf(absolute) ? HUGE_VAL : absolute / size;
    report.worst.push_back({position_of(wrong[k], dims), results.b(i), results.e(i), absolute, relative});
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
  constexpr int kDigits = 9;
  for (const WrongElement& element : report.worst) {
    std::snprintf(line, sizeof(line), "%-20s %16s %16s %11.3g %11.3g\n", text_of(element.position).c_str(),
                  text_of(element.expected, kDigits).c_str(), text_of(element.found, kDigits).c_str(),
                  element.absolute, element.relative);
    text += indent + line;
  }
  return text;
}

}  // namespace mluop::cases
