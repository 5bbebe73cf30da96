#include "primitives/sort/row_matcher.h"

#include <hwy/base.h>

#include <array>
#include <limits>
#include <numeric>

namespace mluop {
namespace {

// Offsets whose keys differ by at most this number share a merge.
constexpr int64_t kMaxShiftStep = 4;

struct KnownRowsArgs {
  // The row at a place equals the row before it.
  bool is_repeated(int64_t place) const { return place > 0 && sorted.are_equal(known, place - 1, place); }
  Range places_of(int64_t part) const { return split(known.count(), part_count, static_cast<int>(part)); }

  RowView known;
  const SortedRows& sorted;
  int64_t* keys;   // of the distinct rows, if they have one key
  uint32_t* rows;  // the first of each kind
  int part_count;
  int64_t* places;  // [part_count], distinct rows, then the place of the first, at last the place after the last
};

// Work items: parts.
void count_known_rows(const KnownRowsArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    const Range range = args.places_of(part);
    int64_t count = 0;
    for (int64_t place = range.begin; place < range.end; ++place) count += args.is_repeated(place) ? 0 : 1;
    args.places[part] = count;
  }
}

// Work items: parts.
void collect_known_rows(const KnownRowsArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    const Range range = args.places_of(part);
    int64_t to = args.places[part];
    for (int64_t place = range.begin; place < range.end; ++place) {
      if (args.is_repeated(place)) continue;
      if (args.sorted.keys != nullptr) args.keys[to] = args.sorted.keys[place];
      args.rows[to++] = args.sorted.order[place];
    }
    args.places[part] = to;
  }
}

struct FindRowsArgs {
  const int32_t* known_row(int64_t place) const { return matches.known + known_rows[place] * matches.columns; }
  const int32_t* query_row(int64_t place) const {
    return matches.queries + queries.order[place] * matches.columns;
  }

  const RowMatches& matches;
  const int64_t* known_keys;   // distinct, ascending
  const uint32_t* known_rows;  // of known_keys
  int64_t known_count;         // distinct rows
  const SortedRows& queries;
  const int64_t *offset_order, *shifts;
  int64_t begin, end;  // positions of offsets
  int32_t* const* found;
  int64_t stride;
};

// The number of the first kMaxShiftStep keys that are less than `wanted`; keys are ascending. Without branches.
int64_t count_less(const int64_t* keys, int64_t wanted) {
  static_assert(kMaxShiftStep == 4);
  return (keys[0] < wanted ? 1 : 0) + (keys[1] < wanted ? 1 : 0) + (keys[2] < wanted ? 1 : 0) +
         (keys[3] < wanted ? 1 : 0);
}

// The offsets at positions from `first` on, for the queries at places [begin, end). Rows have one key. kSize: the
// number of offsets, with consecutive shifts; 0: `size` offsets with steps of at most kMaxShiftStep.
template <int kSize>
void find_together(const FindRowsArgs& args, int64_t first, int64_t size, int64_t begin, int64_t end) {
  const int64_t* const known = args.known_keys;
  const int64_t* const shifts = args.shifts + first;
  int32_t* const* const found = args.found + (first - args.begin);
  constexpr size_t kColumns = std::max(kSize, 1);
  std::array<int32_t*, kColumns> columns{};
  if (kSize > 0) std::copy_n(found, kColumns, columns.begin());
  const int64_t lowest = shifts[0];
  int64_t lower = std::lower_bound(known, known + args.known_count, args.queries.keys[begin] + lowest) - known;
  for (int64_t place = begin; place < end; ++place) {
    const int64_t key = args.queries.keys[place];
    const int64_t element = args.queries.order[place] * args.stride;
    // The next known row is near. The keys end with kMaxShiftStep maxima.
    lower += count_less(known + lower, key + lowest);
    while (known[lower] < key + lowest) ++lower;
    int64_t at = lower;
    // The known row, or -1; without a branch.
    const auto find_at = [&](int64_t wanted, int32_t* to) {
      const uint32_t is_found = known[at] == wanted ? 1 : 0;
      to[element] = static_cast<int32_t>(args.known_rows[at] | (is_found - 1));
      return is_found;
    };
    if constexpr (kSize > 0) {
      // Keys are distinct: between consecutive shifts, there is at most the key that was found.
      HWY_UNROLL(8)
      for (size_t i = 0; i < kColumns; ++i) at += find_at(key + lowest + static_cast<int64_t>(i), columns[i]);
    } else {
      for (int64_t i = 0; i < size; ++i) {
        at += count_less(known + at, key + shifts[i]);
        find_at(key + shifts[i], found[i]);
      }
    }
  }
}

using FindTogether = void (*)(const FindRowsArgs& args, int64_t first, int64_t size, int64_t begin, int64_t end);

FindTogether find_together_of(const int64_t* shifts, int64_t size) {
  for (int64_t i = 1; i < size; ++i) {
    if (shifts[i] != shifts[0] + i) return find_together<0>;
  }
  switch (size) {
    case 1: return find_together<1>;
    case 2: return find_together<2>;
    case 3: return find_together<3>;
    case 5: return find_together<5>;
    default: return find_together<0>;
  }
}

// Work items: queries in ascending order.
void find_by_key(const FindRowsArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t first = args.begin; first < args.end;) {
    int64_t last = first + 1;
    while (last < args.end && args.shifts[last] - args.shifts[last - 1] <= kMaxShiftStep) ++last;
    find_together_of(args.shifts + first, last - first)(args, first, last - first, begin, end);
    first = last;
  }
}

// The order of a known row and the sum of a query and an offset: less than 0, 0 or more.
int compare_rows(const int32_t* known, const int32_t* query, const int32_t* offset, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    const int64_t sum = query[c] + (c == 0 ? int64_t{0} : int64_t{offset[c - 1]});
    if (known[c] != sum) return known[c] < sum ? -1 : 1;
  }
  return 0;
}

// Work items: queries in ascending order. Rows have several keys.
void find_by_columns(const FindRowsArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t columns = args.matches.columns;
  for (int64_t p = args.begin; p < args.end; ++p) {
    const int32_t* const offset = args.matches.offsets + args.offset_order[p] * (columns - 1);
    const auto is_before = [&](int64_t known, int64_t query) {
      return compare_rows(args.known_row(known), args.query_row(query), offset, columns) < 0;
    };
    int64_t low = 0;
    for (int64_t high = args.known_count; low < high;) {
      const int64_t middle = low + (high - low) / 2;
      is_before(middle, begin) ? low = middle + 1 : high = middle;
    }
    for (int64_t place = begin; place < end; ++place) {
      while (low < args.known_count && is_before(low, place)) ++low;
      const bool is_found =
          low < args.known_count && compare_rows(args.known_row(low), args.query_row(place), offset, columns) == 0;
      args.found[p - args.begin][args.queries.order[place] * args.stride] =
          is_found ? static_cast<int32_t>(args.known_rows[low]) : -1;
    }
  }
}

// Extends bounds of rows to the sums of rows and offsets.
void extend_by_offsets(RowBounds& bounds, const RowMatches& matches) {
  for (int64_t d = 0; d + 1 < matches.columns; ++d) {
    int64_t low = 0, high = 0;
    for (int64_t k = 0; k < matches.offset_count; ++k) {
      const int64_t offset = matches.offsets[k * (matches.columns - 1) + d];
      low = std::min(low, offset);
      high = std::max(high, offset);
    }
    bounds.low[static_cast<size_t>(d) + 1] += low;
    bounds.high[static_cast<size_t>(d) + 1] += high;
  }
}

}  // namespace

RowMatcher::RowMatcher(Context& context, int task_dim, const RowMatches& matches, Memory& memory)
    : context_(context), task_dim_(task_dim), matches_(matches), memory_(memory) {
  const RowView known = matches.known_rows(), queries = matches.query_rows();
  const bool is_same = matches.known == matches.queries && matches.known_count == matches.query_count;
  RowBounds bounds = find_bounds(context, task_dim, known);
  if (!is_same) bounds.include(find_bounds(context, task_dim, queries));
  extend_by_offsets(bounds, matches);
  const RowKeys keys(bounds);
  has_one_key_ = keys.count() == 1;
  const SortedRows sorted = sort_rows(context, task_dim, known, keys, memory.known_sort);
  queries_ = is_same ? sorted : sort_rows(context, task_dim, queries, keys, memory.query_sort);
  collect_known(sorted);
  order_offsets(keys);
}

bool RowMatcher::has_distinct_queries() const {
  const RowView rows = matches_.query_rows();
  for (int64_t place = 1; place < matches_.query_count; ++place) {
    if (queries_.are_equal(rows, place - 1, place)) return false;
  }
  return true;
}

void RowMatcher::collect_known(const SortedRows& sorted) {
  const int part_count = std::min(task_dim_, kMaxRowParts);
  std::array<int64_t, kMaxRowParts> places{};
  const KnownRowsArgs args{matches_.known_rows(), sorted, memory_.keys, memory_.rows, part_count, places.data()};
  if (part_count > 1) {
    launch(context_, "count_known", part_count, Evenly{part_count}, count_known_rows, args);
    std::exclusive_scan(places.begin(), places.end(), places.begin(), int64_t{0});
  }
  launch(context_, "collect_known", part_count, Evenly{part_count}, collect_known_rows, args);
  distinct_count_ = places[static_cast<size_t>(part_count) - 1];
  std::fill_n(memory_.keys + distinct_count_, kPadding, std::numeric_limits<int64_t>::max());
  std::fill_n(memory_.rows + distinct_count_, kPadding, 0);
}

void RowMatcher::order_offsets(const RowKeys& keys) {
  const int64_t dims = matches_.columns - 1;
  const auto shift_of = [&](int64_t k) { return has_one_key_ ? keys.shift_of(matches_.offsets + k * dims) : 0; };
  std::iota(memory_.offset_order, memory_.offset_order + matches_.offset_count, int64_t{0});
  // In place: std::stable_sort allocates.
  std::sort(memory_.offset_order, memory_.offset_order + matches_.offset_count, [&](int64_t a, int64_t b) {
    const int64_t first = shift_of(a), second = shift_of(b);
    return first != second ? first < second : a < b;
  });
  for (int64_t p = 0; p < matches_.offset_count; ++p) memory_.shifts[p] = shift_of(memory_.offset_order[p]);
}

int64_t RowMatcher::batch_end(int64_t begin, int64_t limit) const {
  const int64_t last = std::min(begin + limit, matches_.offset_count);
  int64_t end = last;
  while (end > begin && end < matches_.offset_count &&
         memory_.shifts[end] - memory_.shifts[end - 1] <= kMaxShiftStep)
    --end;
  return end > begin ? end : last;
}

void RowMatcher::find(int64_t begin, int64_t end, int32_t* const* found, int64_t stride) const {
  const FindRowsArgs args{
      matches_,       memory_.keys, memory_.rows, distinct_count_, queries_, memory_.offset_order,
      memory_.shifts, begin,        end,          found,           stride};
  launch(context_, "find_rows", task_dim_, Evenly{matches_.query_count},
         has_one_key_ ? find_by_key : find_by_columns, args);
}

}  // namespace mluop
