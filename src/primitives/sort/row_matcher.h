// Rows of a list at offsets from the rows of another: the search behind kernel maps of sparse convolutions. No
// result depends on the number of tasks.
#pragma once

#include <cstdint>

#include "primitives/sort/row_order.h"

namespace mluop {

// Two lists of rows, and offsets.
struct RowMatches {
  RowView known_rows() const { return {known, known_count, nullptr, 0, columns}; }
  RowView query_rows() const { return {queries, query_count, nullptr, 0, columns}; }

  int64_t columns;
  const int32_t* known;  // [known_count, columns]
  int64_t known_count;
  const int32_t* queries;  // [query_count, columns]
  int64_t query_count;
  const int32_t* offsets;  // [offset_count, columns - 1]; the offset in the first column is 0
  int64_t offset_count;
};

// Finds the rows of a list at offsets from the rows of another list. The constructor sorts both lists, once if
// they are the same array; neither may be empty. A search merges the two lists for each offset, or once for
// offsets whose keys differ by little: O(offsets (known + queries)).
class RowMatcher {
 public:
  struct Memory {
    Memory(Arena& arena, int64_t known, int64_t queries, int64_t offsets)
        : known_sort(arena, known),
          query_sort(arena, queries),
          keys(arena.take<int64_t>("distinct keys", {known + kPadding})),
          rows(arena.take<uint32_t>("distinct rows", {known + kPadding})),
          offset_order(arena.take<int64_t>("order of offsets", {offsets})),
          shifts(arena.take<int64_t>("shifts", {offsets})) {}

    RowSortMemory known_sort, query_sort;
    int64_t* keys;          // [known + kPadding], of the distinct known rows, ascending, then the maximum
    uint32_t* rows;         // [known + kPadding], the first row of each, then any
    int64_t* offset_order;  // [offsets], by shift
    int64_t* shifts;        // [offsets], ascending; with several keys to a row, 0
  };

  // Keeps references to `matches` and `memory`.
  RowMatcher(Context& context, int task_dim, const RowMatches& matches, Memory& memory);

  // No row of the queries occurs twice.
  bool has_distinct_queries() const;

  // The offset at a position of the order in which find() takes offsets.
  int64_t offset_at(int64_t position) const { return memory_.offset_order[position]; }

  // The end of a range of at most `limit` positions from `begin` on, which lets find() merge rarely.
  int64_t batch_end(int64_t begin, int64_t limit) const;

  // For each query q and each position p in [begin, end), writes to found[p - begin][q * stride] the first known
  // row that equals queries[q] + offset_at(p), in 64-bit sums, or -1. One launch.
  void find(int64_t begin, int64_t end, int32_t* const* found, int64_t stride) const;

 private:
  // Keys after the last, which a merge reads.
  static constexpr int64_t kPadding = 4;

  void collect_known(const SortedRows& sorted);
  void order_offsets(const RowKeys& keys);

  Context& context_;
  int task_dim_;
  const RowMatches& matches_;
  Memory& memory_;
  bool has_one_key_ = false;
  int64_t distinct_count_ = 0;  // known rows
  SortedRows queries_{};
};

}  // namespace mluop
