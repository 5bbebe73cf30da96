// Unique rows and the union of rows: the rules, arguments and algorithm that both share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "primitives/sort/row_order.h"
#include "team/operator_call.h"

namespace mluop::unique_rows {

inline constexpr auto kInt = MLUOP_DTYPE_INT32;

inline void require_columns(std::string_view name, int64_t columns) {
  require(columns >= 1 && columns <= kMaxRowColumns, MLUOP_STATUS_BAD_PARAM, name, " dim 1 is ", columns,
          ", expected 1 to ", kMaxRowColumns);
}

// The number of tasks for `rows` rows.
inline int choose_row_task_dim(int64_t rows, int64_t columns) {
  // The passes of a sort read and write a key and an index about five times.
  constexpr int64_t kSortedBytes = 128;
  return choose_task_dim(rows, rows * (kSortedBytes + columns * int64_t{sizeof(int32_t)}));
}

}  // namespace mluop::unique_rows
