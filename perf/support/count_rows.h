// Rows of a table with one row for each case and number of tasks or cores.
#pragma once

#include <exception>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/support/case.h"
#include "perf/support/table.h"

namespace mluop::perf {

template <class Figures>
struct CountRow {
  std::string op, name, dtype;
  int count;  // number of tasks or cores
  Figures figures;
  std::string problem;  // empty: the call succeeded
};

// The rows of a case, with the figures of figures_of(prepared case, count). Stops at the first problem. Writes one
// line to `progress`.
template <class FiguresOf, class Figures = std::invoke_result_t<FiguresOf, Case&, int>>
std::vector<CountRow<Figures>> count_rows(const CaseSpec& spec, double size, std::span<const int> counts,
                                          std::ostream& progress, const FiguresOf& figures_of) {
  std::vector<CountRow<Figures>> rows;
  CountRow<Figures> row{spec.op, spec.name, spec.dtype, 0, {}, ""};
  progress << " preparing ..." << std::flush;
  try {
    const auto prepared = spec.prepare(size);
    for (const int count : counts) {
      progress << ' ' << count << std::flush;
      row.count = count;
      row.figures = figures_of(*prepared, count);
      rows.push_back(row);
    }
  } catch (const std::exception& error) {
    row.problem = error.what();
    rows.push_back(row);
    progress << " FAILED: " << row.problem;
  }
  progress << std::endl;
  return rows;
}

// Writes a section per operator.
template <class Figures>
void write_count_rows(std::ostream& out, const std::vector<CountRow<Figures>>& rows, const std::string& counted,
                      const std::vector<Column<Figures>>& figures) {
  using Row = CountRow<Figures>;
  const std::vector<Column<Row>> settings = {
      name_column("case", rows, &Row::name),
      {" dtype", -6, [](const Row& row) { return ' ' + row.dtype; }},
      {counted, 6, [](const Row& row) { return std::to_string(row.count); }}};
  std::string op;
  for (const Row& row : rows) {
    if (row.op != op) {
      out << (op.empty() ? "" : "\n") << row.op << '\n' << titles(settings) << titles(figures) << '\n';
    }
    op = row.op;
    out << cells(settings, row)
        << (row.problem.empty() ? cells(figures, row.figures) : "  FAILED\n    " + row.problem) << '\n';
  }
}

}  // namespace mluop::perf
