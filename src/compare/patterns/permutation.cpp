#include "compare/patterns/permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "team/atomics.h"

namespace mluop::compare {
namespace {

constexpr int64_t kMaxSlices = int64_t{1} << 20;

// A weight in [-1, 1) for each element of a slice.
double weight_of(int64_t place) {
  auto mixed = static_cast<uint64_t>(place) + 1;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBU;
  return static_cast<double>(static_cast<int64_t>(mixed ^ mixed >> 31)) * 0x1p-63;
}

// The slices of a dimension with wrong elements, one for each hit index.
struct Slices {
  // The first of the `inner` consecutive elements of slice `index` with this outer index.
  int64_t first(int64_t outer, int64_t index) const { return (outer * extent + index) * inner; }
  int64_t outer_count(int64_t count) const { return count / extent / inner; }

  const std::vector<int64_t>& indices;
  int64_t extent, inner;
};

// The tasks of a launch over `count` slices.
int slice_task_dim(const Problem& problem, int64_t count) {
  return static_cast<int>(std::min<int64_t>(problem.task_dim(), count));
}

struct ProjectArgs {
  Slices slices;
  Elements elements;
  int64_t count;
  std::vector<double>& projections;
};

// Work items: slices. Computes the weighted sum of the elements of each slice; NaN and infinities count as 1.
void project(const ProjectArgs& args, int64_t begin, int64_t end, Task&) {
  const auto& [slices, elements, total, projections] = args;
  double numbers[kChunk];
  for (int64_t outer = 0; outer < slices.outer_count(total); ++outer) {
    for (int64_t s = begin; s < end;) {
      const int64_t index = slices.indices[static_cast<size_t>(s)];
      // One-element slices that are consecutive are read together.
      int64_t run = 1;
      while (slices.inner == 1 && s + run < end && run < kChunk &&
             slices.indices[static_cast<size_t>(s + run)] == index + run) {
        ++run;
      }
      const int64_t first = slices.first(outer, index), last = first + run * slices.inner;
      for (int64_t at = first; at < last; at += kChunk) {
        const int64_t count = std::min(kChunk, last - at);
        read_numbers(elements, at, count, numbers);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t offset = at - first + i;
          const double number = std::isfinite(numbers[i]) ? numbers[i] : 1;
          projections[static_cast<size_t>(s + offset / slices.inner)] +=
              number * weight_of(outer * slices.inner + offset % slices.inner);
        }
      }
      s += run;
    }
  }
}

struct MatchArgs {
  Slices slices;
  const Operands& operands;
  const std::vector<int64_t>& match;  // for each slice of expected, the matching slice of found
  FirstBadItem& first_bad;
};

// Whether elements [first, first + count) of one row of a slice equal the same elements of another row.
bool are_equal(const Operands& operands, int64_t found, int64_t expected, int64_t count) {
  PairChunk chunk;
  for (int64_t at = 0; at < count; at += kChunk) {
    const int64_t some = std::min(kChunk, count - at);
    chunk.read(operands, found + at, expected + at, some);
    for (int64_t i = 0; i < some; ++i) {
      if (is_wrong(operands, chunk[i])) return false;
    }
  }
  return true;
}

// Work items: slices of expected.
void verify_match(const MatchArgs& args, int64_t begin, int64_t end, Task&) {
  const Slices& slices = args.slices;
  for (int64_t s = begin; s < end; ++s) {
    const int64_t expected = slices.indices[static_cast<size_t>(s)];
    const int64_t found = slices.indices[static_cast<size_t>(args.match[static_cast<size_t>(s)])];
    for (int64_t outer = 0; outer < slices.outer_count(args.operands.count); ++outer) {
      if (are_equal(args.operands, slices.first(outer, found), slices.first(outer, expected), slices.inner))
        continue;
      return args.first_bad.report(s);
    }
  }
}

struct SampleArgs {
  Slices slices;
  const Operands& operands;
  int64_t found;
  std::span<const std::pair<int64_t, int64_t>> places;  // (outer, inner) indices
  std::vector<char>& matched;                           // written by each task
};

// Work items: slices of expected. Whether one of them has the same elements as slice `found` at these places.
void match_samples(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto matches = [&](int64_t expected) {
    return std::all_of(args.places.begin(), args.places.end(), [&](const auto& place) {
      const int64_t inner = place.second, found = args.slices.first(place.first, args.found) + inner;
      return !is_wrong(args.operands,
                       pair_of(args.operands, found, args.slices.first(place.first, expected) + inner));
    });
  };
  const auto indices = args.slices.indices.begin();
  args.matched[static_cast<size_t>(task.taskId)] = std::any_of(indices + begin, indices + end, matches) ? 1 : 0;
}

// Whether a few elements of the slice of found with the worst element occur in a slice of expected. Refutes most
// other patterns at little cost.
bool may_be_permuted(const Problem& problem, const Slices& slices) {
  const int64_t worst = problem.measured.worst.front().index;
  const int64_t found = worst / slices.inner % slices.extent;
  std::vector<std::pair<int64_t, int64_t>> places = {{worst / slices.inner / slices.extent, worst % slices.inner}};
  constexpr int kSamples = 16;
  uint64_t state = 1;
  for (int sample = 0; sample < kSamples; ++sample) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto any = static_cast<int64_t>(state >> 1);
    places.emplace_back(any % slices.outer_count(problem.operands.count), any / 7 % slices.inner);
  }
  const auto count = static_cast<int64_t>(slices.indices.size());
  const int task_dim = slice_task_dim(problem, count);
  std::vector<char> matched(static_cast<size_t>(task_dim));
  launch(problem.context, "match_samples", task_dim, Evenly{count}, RangeKernel<SampleArgs>(match_samples),
         {slices, problem.operands, found, places, matched});
  return std::find(matched.begin(), matched.end(), 1) != matched.end();
}

std::vector<double> projections_of(const Problem& problem, const Slices& slices, const Elements& elements) {
  std::vector<double> projections(slices.indices.size());
  const auto count = static_cast<int64_t>(projections.size());
  launch(problem.context, "project", slice_task_dim(problem, count), Evenly{count},
         RangeKernel<ProjectArgs>(project), {slices, elements, problem.operands.count, projections});
  return projections;
}

std::vector<int64_t> sorted_by(const std::vector<double>& keys) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
    return x != y ? x < y : a < b;
  });
  return order;
}

// Matches each slice of expected with the slice of found whose projection has the same rank. Errors may exchange
// neighbors, which a few elements resolve. Empty if a slice has no match.
std::vector<int64_t> match_slices(const Problem& problem, const Slices& slices) {
  const std::vector<int64_t> found = sorted_by(projections_of(problem, slices, problem.operands.found));
  const std::vector<int64_t> expected = sorted_by(projections_of(problem, slices, problem.operands.expected));
  const auto count = static_cast<int64_t>(found.size());
  const int64_t outer_count = slices.outer_count(problem.operands.count);
  const auto may_match = [&](int64_t f, int64_t e) {
    constexpr int64_t kRows = 16;
    for (int64_t sample = 0; sample < std::min(kRows, outer_count); ++sample) {
      const int64_t outer = outer_count <= kRows ? sample : outer_count / kRows * sample;
      if (!are_equal(problem.operands, slices.first(outer, slices.indices[static_cast<size_t>(f)]),
                     slices.first(outer, slices.indices[static_cast<size_t>(e)]),
                     std::min(slices.inner, kChunk))) {
        return false;
      }
    }
    return true;
  };
  std::vector<char> taken(found.size());
  std::vector<int64_t> match(found.size());
  constexpr int64_t kNeighbors = 8;
  for (int64_t k = 0; k < count; ++k) {
    int64_t chosen = -1;
    for (int64_t distance = 0; chosen < 0 && distance <= kNeighbors; ++distance) {
      for (const int64_t at : {k - distance, k + distance}) {
        if (at < 0 || at >= count || taken[static_cast<size_t>(at)] != 0) continue;
        if (!may_match(found[static_cast<size_t>(at)], expected[static_cast<size_t>(k)])) continue;
        chosen = at;
        break;
      }
    }
    if (chosen < 0) return {};
    taken[static_cast<size_t>(chosen)] = 1;
    match[static_cast<size_t>(expected[static_cast<size_t>(k)])] = found[static_cast<size_t>(chosen)];
  }
  return match;
}

// "reversed", "rotated by 3", or pairs.
std::string describe(const Slices& slices, const std::vector<int64_t>& match) {
  const auto count = static_cast<int64_t>(match.size());
  const auto all = [&](const auto& image) {
    for (int64_t s = 0; s < count; ++s) {
      if (match[static_cast<size_t>(s)] != image(s)) return false;
    }
    return true;
  };
  if (count > 2 && count >= slices.extent - 1 && all([&](int64_t s) { return count - 1 - s; })) return "reversed";
  const int64_t shift = match[0];
  if (count > 2 && count == slices.extent && all([&](int64_t s) { return (s + shift) % count; })) {
    return text("rotated by ", shift);
  }
  constexpr int64_t kMaxPairs = 4;
  std::string pairs;
  for (int64_t s = 0; s < std::min(count, kMaxPairs); ++s) {
    pairs += text(s == 0 ? "" : ", ", slices.indices[static_cast<size_t>(s)], " -> ",
                  slices.indices[static_cast<size_t>(match[static_cast<size_t>(s)])]);
  }
  return text("permuted: ", pairs, count > kMaxPairs ? ", ..." : "");
}

std::string permutation_of(const Problem& problem, const Hits& hits, size_t dim) {
  std::vector<int64_t> indices;
  if (problem.all_wrong()) {
    if (problem.dims[dim] > kMaxSlices) return "";
    indices.resize(static_cast<size_t>(problem.dims[dim]));
    std::iota(indices.begin(), indices.end(), 0);
  } else {
    hits.for_each(dim, [&](int64_t index) {
      if (static_cast<int64_t>(indices.size()) <= kMaxSlices) indices.push_back(index);
    });
  }
  const auto count = static_cast<int64_t>(indices.size());
  // A few elements can form a permutation by chance.
  constexpr int64_t kEnough = 8;
  if (count < 2 || count > kMaxSlices || count * problem.slice(dim) < kEnough) return "";
  const Slices slices{indices, problem.dims[dim], problem.stride(dim)};
  if (!may_be_permuted(problem, slices)) return "";
  const std::vector<int64_t> match = match_slices(problem, slices);
  if (match.empty()) return "";
  FirstBadItem first_bad;
  launch(problem.context, "verify_match", slice_task_dim(problem, count), Evenly{count},
         RangeKernel<MatchArgs>(verify_match), {slices, problem.operands, match, first_bad});
  if (first_bad.found()) return "";
  const std::string who = count == slices.extent ? text("all ", count) : text(count, " of ", slices.extent);
  return text(who, " indices of ", problem.name_of_dim(dim), " (dim ", dim, ") are ", describe(slices, match));
}

}  // namespace

std::string permutation(const Problem& problem, const Hits& hits) {
  for (size_t dim = 0; dim < problem.dims.size(); ++dim) {
    if (problem.dims[dim] == 1 || (!problem.all_wrong() && hits.bits[dim].empty())) continue;
    if (std::string found = permutation_of(problem, hits, dim); !found.empty()) return found;
  }
  return "";
}

}  // namespace mluop::compare
