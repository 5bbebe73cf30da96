// Text tables. A column states its title, its width and its text in a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace mluop::perf {

// Right-aligned, or left-aligned if the width is negative.
template <class Row>
struct Column {
  std::string title;
  int width;
  std::function<std::string(const Row&)> text;
};

inline std::string padded(const std::string& text, int width) {
  const auto blanks = static_cast<size_t>(std::max(std::abs(width) - static_cast<int>(text.size()), 0));
  return width < 0 ? text + std::string(blanks, ' ') : std::string(blanks, ' ') + text;
}

// Both without a line break.
template <class Row>
std::string titles(const std::vector<Column<Row>>& columns) {
  std::string line;
  for (const Column<Row>& column : columns) line += padded(column.title, column.width);
  return line;
}
template <class Row>
std::string cells(const std::vector<Column<Row>>& columns, const Row& row) {
  std::string line;
  for (const Column<Row>& column : columns) line += padded(column.text(row), column.width);
  return line;
}

// The left column, as wide as the longest name of `rows`, its title and `min_width`.
template <class Rows, class Row = Rows::value_type>
Column<Row> name_column(const std::string& title, const Rows& rows, std::type_identity_t<std::string Row::*> name,
                        size_t min_width = 0) {
  size_t width = std::max(title.size(), min_width);
  for (const Row& row : rows) width = std::max(width, (row.*name).size());
  return {"  " + title, -2 - static_cast<int>(width), [name](const Row& row) { return "  " + row.*name; }};
}

// A dash for NaN and infinity.
inline std::string figure(double value, int digits, const char* unit = "") {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f%s", digits, value, unit);
  return text;
}

// "1 thread", "2 threads"
inline std::string thread_text(int threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

}  // namespace mluop::perf
