// All figures of a run, for people and for programs.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "perf/support/machine.h"
#include "perf/support/measure.h"

namespace mluop::perf {

struct Report {
  Machine machine;
  std::vector<Result> results;  // the cases of an operator next to each other, those of a dtype and mode in it too
};

// At most 100 columns, with the machine above, a line for each operator that sums up its cases, and the meaning of
// the columns below.
void write_table(std::ostream& out, const Report& report);

// Of the layout of the JSON: another number where a reader of the former would misunderstand.
inline constexpr int kSchemaVersion = 1;

// Every figure with its samples, sizes and limits, and what each means.
nlohmann::ordered_json report_json(const Report& report);

// With a line for each case.
void write_json(std::ostream& out, const nlohmann::ordered_json& report);

}  // namespace mluop::perf
