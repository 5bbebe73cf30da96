#include "compare/patterns/location.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace mluop::compare {
namespace {

constexpr size_t kMaxListed = 8;

// Whether `count` random elements would be unlikely to all lie in this share of the tensor.
bool is_significant(int64_t count, double share) {
  constexpr double kOddsAgainst = 1000;
  return -static_cast<double>(count) * std::log(share) >= std::log(kOddsAgainst);
}

// A dimension, described by its indices with wrong elements.
struct Axis {
  Axis(const Problem& problem, const Hits& found, size_t of_dim)
      : name(problem.name_of_dim(of_dim)),
        dim(of_dim),
        extent(problem.dims[of_dim]),
        slice(problem.slice(of_dim)) {
    found.for_each(dim, [&](int64_t index) {
      if (hits++ == 0) first = index;
      if (distance != 1) distance = std::gcd(distance, index - first);
      last = index;
      if (listed.size() < kMaxListed) listed.push_back(index);
    });
  }

  int64_t span() const { return last - first + 1; }
  std::string dim_text() const { return text(" (dim ", dim, ")"); }

  std::string name;
  size_t dim;
  int64_t extent, slice;
  int64_t hits = 0, first = 0, last = 0;
  int64_t distance = 0;         // greatest common divisor of the distances between hits
  std::vector<int64_t> listed;  // the first hits
};

std::string list_of(const Axis& axis) {
  if (axis.hits > 1 && axis.span() == axis.hits) return text(axis.first, " to ", axis.last);
  std::string list;
  for (const int64_t index : axis.listed) list += text(list.empty() ? "" : ", ", index);
  return axis.hits > static_cast<int64_t>(axis.listed.size()) ? list + ", ..." : list;
}

// "one channel: ..." if exactly one axis has a single hit.
std::string one_index(const std::vector<Axis>& axes, int64_t count) {
  const Axis* found = nullptr;
  for (const Axis& axis : axes) {
    if (axis.hits != 1) continue;
    if (found != nullptr) return "";
    found = &axis;
  }
  if (found == nullptr || count < 2) return "";
  // The first element may have any index, so it does not count.
  if (count != found->slice && !is_significant(count - 1, 1 / static_cast<double>(found->extent))) return "";
  return text("one ", found->name, ": ", found->first, " of ", found->extent, found->dim_text(),
              of_its(count, found->slice, "its"));
}

// A dense box of at most three quarters of the extent in several dimensions.
std::string tile(const std::vector<Axis>& axes, int64_t count, size_t rank) {
  int64_t volume = 1;
  size_t restricted = 0;
  std::vector<std::string> ranges(rank, "0");
  for (const Axis& axis : axes) {
    volume *= axis.span();
    if (axis.span() * 4 <= axis.extent * 3) ++restricted;
    ranges[axis.dim] = text(axis.first, ':', axis.last + 1);
  }
  constexpr int64_t kFew = 4;
  if (count <= kFew || restricted < 2 || count < volume / 2) return "";
  std::string box;
  for (const std::string& range : ranges) box += text(box.empty() ? "" : ", ", range);
  return text("a tile: [", box, ']', of_its(count, volume, "its"));
}

// First and last indices of several dimensions: the smallest set of dimensions that covers all wrong elements.
std::string border(const Problem& problem, const Hits& hits, int64_t count) {
  const size_t rank = problem.dims.size();
  std::vector<size_t> sets;
  for (size_t set = 1; set < size_t{1} << rank; ++set) sets.push_back(set);
  std::stable_sort(sets.begin(), sets.end(),
                   [](size_t a, size_t b) { return std::popcount(a) < std::popcount(b); });
  for (const size_t set : sets) {
    int64_t inside = 0, interior = 1;
    bool has_borders = true;
    for (size_t mask = 0; mask < hits.borders.size(); ++mask) {
      if ((mask & set) == 0) inside += hits.borders[mask];
    }
    if (inside > 0) continue;
    std::string names;
    for (size_t dim = 0; dim < rank; ++dim) {
      const bool in_set = (set >> dim & 1) != 0;
      has_borders = has_borders && (!in_set || problem.dims[dim] >= 3);
      interior *= in_set ? problem.dims[dim] - 2 : problem.dims[dim];
      if (in_set) names += text(names.empty() ? "" : " or ", problem.name_of_dim(dim), " (dim ", dim, ")");
    }
    // The border of one dimension is only two of its indices.
    if (!has_borders || std::popcount(set) < 2) return "";
    const int64_t elements = problem.operands.count - interior;
    const double share = static_cast<double>(elements) / static_cast<double>(problem.operands.count);
    if (count < elements / 2 || !is_significant(count, share)) return "";
    return text("a border: the first or last ", names, of_its(count, elements, "its"));
  }
  return "";
}

// Indices of an axis at a constant distance, such as one lane of vectors.
std::string stride(const std::vector<Axis>& axes, int64_t count) {
  for (const Axis& axis : axes) {
    constexpr int64_t kMinHits = 3;
    if (axis.hits < kMinHits || axis.distance < 2) continue;
    const int64_t first = axis.first % axis.distance;
    const int64_t possible = (axis.extent - first + axis.distance - 1) / axis.distance;
    if (axis.hits < (possible + 1) / 2) continue;
    const char* const ordinal = axis.distance == 2 ? "nd " : axis.distance == 3 ? "rd " : "th ";
    return text("every ", axis.distance, ordinal, axis.name, " from ", first, axis.dim_text(),
                of_its(count, axis.hits * axis.slice, "their"));
  }
  return "";
}

// Several indices of one axis, each with several wrong elements.
std::string some_indices(const std::vector<Axis>& axes, int64_t count) {
  constexpr int64_t kElementsForEach = 4;
  const Axis* found = nullptr;
  for (const Axis& axis : axes) {
    if (axis.hits * 2 > axis.extent || count < kElementsForEach * axis.hits) continue;
    const auto share = [](const Axis& of) {
      return static_cast<double>(of.hits) / static_cast<double>(of.extent);
    };
    if (found == nullptr || share(axis) < share(*found)) found = &axis;
  }
  if (found == nullptr) return "";
  return text(found->hits, " of ", found->extent, " indices of ", found->name, ": ", list_of(*found),
              found->dim_text(), of_its(count, found->hits * found->slice, "their"));
}

}  // namespace

std::string location(const Problem& problem, const Hits& hits) {
  const int64_t total = problem.operands.count, count = problem.wrong();
  if (problem.all_wrong()) return "everything" + of_its(count, total, "all");
  std::vector<Axis> axes;
  for (size_t dim = 0; dim < problem.dims.size(); ++dim) {
    if (!hits.bits[dim].empty()) axes.emplace_back(problem, hits, dim);
  }
  // A box requires that all of its dimensions are known.
  const bool all_known = std::all_of(problem.dims.begin(), problem.dims.end(), [&](const int64_t& extent) {
    return extent == 1 || !hits.bits[static_cast<size_t>(&extent - problem.dims.data())].empty();
  });
  for (const std::string& found :
       {all_known ? tile(axes, count, problem.dims.size()) : std::string(), one_index(axes, count),
        border(problem, hits, count), stride(axes, count), some_indices(axes, count)}) {
    if (!found.empty()) return found;
  }
  constexpr int64_t kFew = 16;
  if (count <= kFew) return count == 1 ? "one element" : text("a few elements: ", count);
  std::ostringstream share;
  share.imbue(std::locale::classic());
  share.precision(2);
  share << 100 * static_cast<double>(count) / static_cast<double>(total);
  return text("scattered: ", share.str(), " % of all elements, in no pattern");
}

}  // namespace mluop::compare
