#include "reference/reached_sites.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace mluop::reference {
namespace {

using Row = std::array<int32_t, 8>;  // the columns of a site, then zeros

int32_t write(const std::vector<Row>& rows, int64_t columns, int64_t capacity, int32_t* to) {
  std::fill_n(to, capacity * columns, 0);
  for (const Row& row : rows) to = std::copy_n(row.begin(), columns, to);
  return static_cast<int32_t>(rows.size());
}

}  // namespace

int32_t reached_sites(const SiteList& list, int64_t K, const int32_t* offsets, int32_t* reached) {
  std::vector<Row> rows;
  for (int64_t n = 0; n < list.N; ++n) {
    const int32_t* site = list.sites + n * (list.D + 1);
    for (int64_t k = 0; k < K; ++k) {
      Row row{site[0]};
      bool is_multiple = true;
      for (int64_t d = 0; d < list.D; ++d) {
        const int32_t sum = site[d + 1] + offsets[k * list.D + d];
        is_multiple = is_multiple && sum % list.multiples[d] == 0;
        row[static_cast<size_t>(d + 1)] = sum;
      }
      if (is_multiple) rows.push_back(row);
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return write(rows, list.D + 1, list.N * K, reached);
}

int32_t floor_sites(const SiteList& list, int32_t* floors, int32_t* inverse) {
  std::vector<Row> rows;
  for (int64_t n = 0; n < list.N; ++n) {
    const int32_t* site = list.sites + n * (list.D + 1);
    Row row{site[0]};
    for (int64_t d = 0; d < list.D; ++d) {
      const double multiple = list.multiples[d];  // doubles hold these numbers exactly
      row[static_cast<size_t>(d + 1)] = static_cast<int32_t>(std::floor(site[d + 1] / multiple) * multiple);
    }
    rows.push_back(row);
  }
  std::map<Row, int32_t> numbers;
  for (const Row& row : rows) numbers.emplace(row, 0);
  std::vector<Row> distinct;
  for (auto& [row, number] : numbers) {
    number = static_cast<int32_t>(distinct.size());
    distinct.push_back(row);
  }
  for (size_t n = 0; n < rows.size(); ++n) inverse[n] = numbers[rows[n]];
  return write(distinct, list.D + 1, list.N, floors);
}

}  // namespace mluop::reference
