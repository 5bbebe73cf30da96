// The results of a run as a table and as JSON.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "perf/support/machine.h"
#include "perf/support/measure.h"

namespace mluop::perf {

struct Report {
  Machine machine;
  std::vector<Result> results;  // cases of an operator are consecutive, and in it those of a dtype and algorithm
};

// Writes the machine, a section per operator, a summary, the linearity and a legend. At most 100 columns.
void write_table(std::ostream& out, const Report& report);

// Incremented by each incompatible change of the JSON.
inline constexpr int kSchemaVersion = 3;

// All results with every sample, and the meaning of each field.
nlohmann::ordered_json report_json(const Report& report);

// Writes one line per case.
void write_json(std::ostream& out, const nlohmann::ordered_json& report);

}  // namespace mluop::perf
