#include "reference/unique_rows.h"

#include <algorithm>
#include <map>
#include <vector>

namespace mluop::reference {
namespace {

using Row = std::vector<int32_t>;

Row row_of(const RowList& list, int64_t i) {
  return {list.rows + i * list.columns, list.rows + (i + 1) * list.columns};
}

}  // namespace

int32_t unique_rows(const RowList& list, bool ascending, int32_t* first, int32_t* inverse) {
  std::map<Row, int32_t> first_of;
  for (int64_t i = 0; i < list.count; ++i) first_of.emplace(row_of(list, i), static_cast<int32_t>(i));
  std::vector<int32_t> firsts;
  for (const auto& [row, i] : first_of) firsts.push_back(i);
  if (!ascending) std::sort(firsts.begin(), firsts.end());
  std::fill_n(first, list.count, -1);
  std::copy(firsts.begin(), firsts.end(), first);
  std::map<Row, int32_t> place_of;
  for (const int32_t i : firsts) place_of.emplace(row_of(list, i), static_cast<int32_t>(place_of.size()));
  for (int64_t i = 0; i < list.count; ++i) inverse[i] = place_of[row_of(list, i)];
  return static_cast<int32_t>(firsts.size());
}

int32_t union_rows(const RowList& a, const RowList& b, int32_t* rows, int32_t* index_a, int32_t* index_b) {
  std::map<Row, int32_t> place_of;
  std::fill_n(rows, (a.count + b.count) * a.columns, 0);
  const auto add = [&](const RowList& list, int32_t* index) {
    for (int64_t i = 0; i < list.count; ++i) {
      const Row row = row_of(list, i);
      const auto [found, is_new] = place_of.emplace(row, static_cast<int32_t>(place_of.size()));
      if (is_new) std::copy(row.begin(), row.end(), rows + found->second * a.columns);
      index[i] = found->second;
    }
  };
  add(a, index_a);
  add(b, index_b);
  return static_cast<int32_t>(place_of.size());
}

}  // namespace mluop::reference
