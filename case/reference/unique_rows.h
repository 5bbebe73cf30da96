// Unique rows and the union of rows by their definitions: each row is looked up in a map of the rows before it.
// The oracles of the tests and the baselines of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct RowList {
  int64_t count, columns;
  const int32_t* rows;  // [count, columns]
};

// first [count], -1 after the distinct rows; inverse [count]. Returns the number of distinct rows.
int32_t unique_rows(const RowList& list, bool ascending, int32_t* first, int32_t* inverse);

// rows [a.count + b.count, columns], 0 after the distinct rows; index_a [a.count], index_b [b.count]. Returns the
// number of distinct rows.
int32_t union_rows(const RowList& a, const RowList& b, int32_t* rows, int32_t* index_a, int32_t* index_b);

}  // namespace mluop::reference
