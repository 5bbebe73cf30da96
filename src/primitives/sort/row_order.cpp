#include "primitives/sort/row_order.h"

#include <atomic>
#include <bit>

namespace mluop {
namespace {

struct RowBoundsArgs {
  const RowView& rows;
  int part_count;
  RowBounds* parts;  // [part_count]
};

// Work items: parts.
void find_part_bounds(const RowBoundsArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    RowBounds bounds(args.rows.columns);
    const Range range = split(args.rows.count(), args.part_count, static_cast<int>(part));
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int32_t* const row = args.rows.row(i);
      for (size_t c = 0; c < static_cast<size_t>(args.rows.columns); ++c) {
        bounds.low[c] = std::min<int64_t>(bounds.low[c], row[c]);
        bounds.high[c] = std::max<int64_t>(bounds.high[c], row[c]);
      }
    }
    args.parts[part] = bounds;
  }
}

struct RowKeyArgs {
  const RowView& rows;
  const RowKeys& keys;
  int k;
  const uint32_t* order;  // null: the rows in their own order
  int64_t* to;
  uint32_t* positions;  // of the rows in their own order
  std::atomic<bool>& is_ascending;
};

// Work items: rows in their own order.
void compute_row_keys(const RowKeyArgs& args, int64_t begin, int64_t end, Task&) {
  int64_t last = begin == 0 ? 0 : args.keys.key(args.rows.row(begin - 1), args.k);
  bool is_ascending = true;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t key = args.keys.key(args.rows.row(i), args.k);
    is_ascending = is_ascending && last <= key;
    args.to[i] = last = key;
    args.positions[i] = static_cast<uint32_t>(i);
  }
  if (!is_ascending) args.is_ascending.store(false, std::memory_order_relaxed);
}

// Work items: rows in the order of less significant keys.
void compute_next_row_keys(const RowKeyArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) args.to[i] = args.keys.key(args.rows.row(args.order[i]), args.k);
}

struct DistinctRowsArgs {
  // The row that is numbered at a place.
  int64_t row_at(int64_t place) const { return is_ascending ? sorted.order[place] : place; }
  bool leads(int64_t row) const { return leaders[row] == static_cast<uint32_t>(row); }
  bool are_equal(int64_t place, int64_t other) const { return sorted.are_equal(rows, place, other); }
  Range places(int64_t part) const { return split(rows.count(), part_count, static_cast<int>(part)); }

  const RowView& rows;
  SortedRows sorted;
  bool is_ascending;
  uint32_t *leaders, *numbers;
  int part_count;
  int64_t* part_numbers;  // [part_count], distinct rows, then the number of the first
  int32_t *first, *inverse;
};

// Work items: places in ascending order of the rows.
void find_leaders(const DistinctRowsArgs& args, int64_t begin, int64_t end, Task&) {
  // The first place of a row that equals the row at `begin`.
  int64_t low = 0, leader = begin;
  while (low < leader) {
    const int64_t middle = low + (leader - low) / 2;
    if (args.are_equal(middle, begin)) {
      leader = middle;
    } else {
      low = middle + 1;
    }
  }
  for (int64_t place = begin; place < end; ++place) {
    if (!args.are_equal(place, leader)) leader = place;
    args.leaders[args.sorted.order[place]] = args.sorted.order[leader];
  }
}

// Work items: parts.
void count_leaders(const DistinctRowsArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t count = 0;
    const Range places = args.places(part);
    for (int64_t place = places.begin; place < places.end; ++place)
      count += args.leads(args.row_at(place)) ? 1 : 0;
    args.part_numbers[part] = count;
  }
}

// Work items: parts.
void number_leaders(const DistinctRowsArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t number = args.part_numbers[part];
    const Range places = args.places(part);
    for (int64_t place = places.begin; place < places.end; ++place) {
      const int64_t row = args.row_at(place);
      if (!args.leads(row)) continue;
      args.first[number] = static_cast<int32_t>(row);
      args.numbers[row] = static_cast<uint32_t>(number++);
    }
  }
}

// Work items: rows.
void write_row_inverse(const DistinctRowsArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) args.inverse[i] = static_cast<int32_t>(args.numbers[args.leaders[i]]);
}

struct GatherRowsArgs {
  const RowView& rows;
  const int32_t* indices;
  int64_t count;
  int32_t* to;
};

// Work items: rows of the result.
void copy_listed_rows(const GatherRowsArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t columns = args.rows.columns;
  for (int64_t i = begin; i < end; ++i) {
    if (i < args.count) {
      std::copy_n(args.rows.row(args.indices[i]), columns, args.to + i * columns);
    } else {
      std::fill_n(args.to + i * columns, columns, 0);
    }
  }
}

}  // namespace

void RowBounds::include(const RowBounds& other) {
  for (size_t c = 0; c < static_cast<size_t>(columns); ++c) {
    low[c] = std::min(low[c], other.low[c]);
    high[c] = std::max(high[c], other.high[c]);
  }
}

RowBounds find_bounds(Context& context, int task_dim, const RowView& rows) {
  const int part_count = std::min(task_dim, kMaxRowParts);
  std::array<RowBounds, kMaxRowParts> parts;
  launch(context, "find_bounds", part_count, Evenly{part_count}, find_part_bounds,
         {rows, part_count, parts.data()});
  RowBounds bounds(rows.columns);
  for (int part = 0; part < part_count; ++part) bounds.include(parts[static_cast<size_t>(part)]);
  return bounds;
}

RowKeys::RowKeys(const RowBounds& bounds) : columns_(bounds.columns) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  // From the last column to the first: a column that does not fit starts another key. Keys are counted from the
  // least significant one, then reversed.
  std::array<int64_t, kMaxRowColumns> products{}, firsts{};
  count_ = 1;
  int64_t product = 1;
  for (int64_t c = columns_ - 1; c >= 0; --c) {
    const auto i = static_cast<size_t>(c);
    const int64_t extent = bounds.high[i] - bounds.low[i] + 1;
    if (extent > kLimit / product) {
      product = 1;
      ++count_;
    }
    low_[i] = bounds.low[i];
    factors_[i] = product;
    product *= extent;
    const auto k = static_cast<size_t>(count_ - 1);
    products[k] = product;
    firsts[k] = c;
  }
  for (int k = 0; k < count_; ++k) {
    const auto reversed = static_cast<size_t>(count_ - 1 - k);
    first_columns_[static_cast<size_t>(k)] = firsts[reversed];
    bits_[static_cast<size_t>(k)] =
        static_cast<int>(std::bit_width(static_cast<uint64_t>(products[reversed] - 1)));
  }
  first_columns_[static_cast<size_t>(count_)] = columns_;
}

SortedRows sort_rows(Context& context, int task_dim, const RowView& rows, const RowKeys& keys,
                     RowSortMemory& memory) {
  const int64_t count = rows.count();
  std::atomic<bool> is_ascending{true};
  int k = keys.count() - 1;
  launch(context, "compute_row_keys", task_dim, Evenly{count}, compute_row_keys,
         {rows, keys, k, nullptr, memory.keys[0], memory.values[0], is_ascending});
  const bool has_one_key = k == 0;
  if (has_one_key && is_ascending) return {memory.keys[0], memory.values[0]};
  size_t sorted_in = radix_sort(context, task_dim, count, keys.bits(k), SortedValues::kPositions, memory);
  for (--k; k >= 0; --k) {
    memory.exchange(sorted_in);
    launch(context, "compute_next_row_keys", task_dim, Evenly{count}, compute_next_row_keys,
           {rows, keys, k, memory.values[0], memory.keys[0], nullptr, is_ascending});
    sorted_in = radix_sort(context, task_dim, count, keys.bits(k), SortedValues::kGiven, memory);
  }
  return {has_one_key ? memory.keys[sorted_in] : nullptr, memory.values[sorted_in]};
}

int64_t find_distinct_rows(Context& context, int task_dim, const RowView& rows, RowOrder order,
                           DistinctRowsMemory& memory, int32_t* first, int32_t* inverse) {
  const int64_t count = rows.count();
  const RowKeys keys(find_bounds(context, task_dim, rows));
  const int part_count = std::min(task_dim, kMaxRowParts);
  std::array<int64_t, kMaxRowParts> part_numbers{};
  const DistinctRowsArgs args{rows,
                              sort_rows(context, task_dim, rows, keys, memory.sort),
                              order == RowOrder::kAscending,
                              memory.leaders,
                              memory.numbers,
                              part_count,
                              part_numbers.data(),
                              first,
                              inverse};
  launch(context, "find_leaders", task_dim, Evenly{count}, find_leaders, args);
  launch(context, "count_leaders", part_count, Evenly{part_count}, count_leaders, args);
  int64_t distinct = 0;
  for (int part = 0; part < part_count; ++part) {
    distinct += std::exchange(part_numbers[static_cast<size_t>(part)], distinct);
  }
  launch(context, "number_leaders", part_count, Evenly{part_count}, number_leaders, args);
  if (inverse != nullptr) launch(context, "write_row_inverse", task_dim, Evenly{count}, write_row_inverse, args);
  return distinct;
}

void gather_rows(Context& context, int task_dim, const RowView& rows, const int32_t* indices, int64_t count,
                 int32_t* to, int64_t to_count) {
  launch(context, "gather_rows", task_dim, Evenly{to_count}, copy_listed_rows, {rows, indices, count, to});
}

}  // namespace mluop
