// int32 rows of 1 to 8 columns: their ascending lexicographic order, and distinct rows. row_matcher.h finds rows
// at offsets from others. No result depends on the number of tasks.
//
// The columns of a row form one or more keys of mixed radix, each below 2^62: rows of usual coordinates have one
// key, the rows of any int32 at most one key for each column. A stable radix sort orders the rows.
//
//   const RowView rows{data, count, nullptr, 0, columns};
//   const RowKeys keys(find_bounds(context, task_dim, rows));
//   const SortedRows sorted = sort_rows(context, task_dim, rows, keys, memory);
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "core/arena.h"
#include "primitives/sort/radix_sort.h"
#include "team/launch.h"

namespace mluop {

inline constexpr int64_t kMaxRowColumns = 8;

// Rows in one array or in two, the second after the first: fewer than 2^31 rows.
struct RowView {
  int64_t count() const { return first_count + second_count; }
  const int32_t* row(int64_t i) const {
    return i < first_count ? first + i * columns : second + (i - first_count) * columns;
  }
  bool is_equal(int64_t i, int64_t j) const { return std::equal(row(i), row(i) + columns, row(j)); }

  const int32_t* first;  // [first_count, columns]
  int64_t first_count;
  const int32_t* second;  // [second_count, columns]
  int64_t second_count;
  int64_t columns;
};

// The least and the greatest value of each column.
struct RowBounds {
  explicit RowBounds(int64_t column_count = 0) : columns(column_count) {
    low.fill(std::numeric_limits<int64_t>::max());
    high.fill(std::numeric_limits<int64_t>::min());
  }

  // Extends the bounds by the bounds of other rows.
  void include(const RowBounds& other);
  int64_t columns;
  std::array<int64_t, kMaxRowColumns> low, high;  // low > high: without rows
};

// One launch.
RowBounds find_bounds(Context& context, int task_dim, const RowView& rows);

// How rows within bounds, which are not empty, become keys. Key 0 is the most significant one.
class RowKeys {
 public:
  explicit RowKeys(const RowBounds& bounds);

  int count() const { return count_; }
  // The least number of bits of key k; 0 if all rows are equal there.
  int bits(int k) const { return bits_[static_cast<size_t>(k)]; }

  // Key k of a row.
  int64_t key(const int32_t* row, int k) const {
    int64_t key = 0;
    for (int64_t c = first_columns_[static_cast<size_t>(k)]; c < first_columns_[static_cast<size_t>(k) + 1]; ++c) {
      key += (row[c] - low_[static_cast<size_t>(c)]) * factors_[static_cast<size_t>(c)];
    }
    return key;
  }

  // The key of a row plus shift_of(offset) is the key of the sum of row and offset. Requires count() == 1, and
  // that the bounds include the sums. offset: the columns from the second on; the first is 0.
  int64_t shift_of(const int32_t* offset) const {
    int64_t shift = 0;
    for (int64_t c = 1; c < columns_; ++c) shift += offset[c - 1] * factors_[static_cast<size_t>(c)];
    return shift;
  }

 private:
  int count_ = 1;
  int64_t columns_;
  std::array<int, kMaxRowColumns> bits_{};
  std::array<int64_t, kMaxRowColumns + 1> first_columns_{};  // of each key, and columns_ after the last
  std::array<int64_t, kMaxRowColumns> low_{}, factors_{};
};

using RowSortMemory = RadixSortMemory<int64_t>;  // of the number of rows

// Parts of a launch whose results are combined in order.
inline constexpr int kMaxRowParts = RowSortMemory::kMaxParts;

struct SortedRows {
  bool are_equal(const RowView& rows, int64_t place, int64_t other) const {
    return keys != nullptr ? keys[place] == keys[other] : rows.is_equal(order[place], order[other]);
  }

  const int64_t* keys;    // [rows], ascending; null: the rows have several keys
  const uint32_t* order;  // [rows], the rows in ascending order; of equal rows the lower first
};

// Sorts rows, unless they are in ascending order. The result lies in `memory`.
SortedRows sort_rows(Context& context, int task_dim, const RowView& rows, const RowKeys& keys,
                     RowSortMemory& memory);

// The order of distinct rows.
enum class RowOrder { kFirstOccurrence, kAscending };

struct DistinctRowsMemory {
  DistinctRowsMemory(Arena& arena, int64_t rows)
      : sort(arena, rows),
        leaders(arena.take<uint32_t>("first equal rows", {rows})),
        numbers(arena.take<uint32_t>("numbers of rows", {rows})) {}

  RowSortMemory sort;
  uint32_t* leaders;  // [rows], the first of the rows that equal a row
  uint32_t* numbers;  // [rows], of rows that are the first of their kind
};

// Returns the number of distinct rows. Writes the first of the rows of each kind to first[0, number); later
// elements keep their values. Writes the position in `first` of each row to inverse [rows], unless it is null.
// There is at least one row.
int64_t find_distinct_rows(Context& context, int task_dim, const RowView& rows, RowOrder order,
                           DistinctRowsMemory& memory, int32_t* first, int32_t* inverse);

// to[i] = row indices[i], for i < count; zeros for the other rows of `to`. One launch.
void gather_rows(Context& context, int task_dim, const RowView& rows, const int32_t* indices, int64_t count,
                 int32_t* to, int64_t to_count);

}  // namespace mluop
