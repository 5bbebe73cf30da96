// The results of a run as tables and as JSON, and the comparison of two runs. Tables have at most 100 columns.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "perf/support/machine.h"
#include "perf/support/measure.h"

namespace mluop::perf {

struct Report {
  Machine machine;
  std::vector<Result> results;  // ordered by operator, then by dtype and algorithm
};

// Writes a line for each family of operators, the first result of its forward operator, and for each network.
void write_lines(std::ostream& out, const Report& report);

// "the machine was busy: other processes used 1.3 processors".
std::string disturbance_text(const Result& result);

// Writes a page without external files: each case below its roof, and a table that begins with the cases that are
// furthest from their limit.
void write_html(std::ostream& out, const Report& report);

// Writes the machine, a section per operator, a summary, the linearity and a legend.
void write_table(std::ostream& out, const Report& report);

// Writes, for each case in both runs, the ratio of the median latencies and its noise: the confidence intervals of
// both medians and the change of the stream bound, which no change of an operator affects. Flags ratios beyond the
// noise.
void write_comparison(std::ostream& out, const Report& old_run, const Report& new_run);

// All results with every sample, and the meaning of each field.
nlohmann::ordered_json report_json(const Report& report);

// Writes one line per case.
void write_json(std::ostream& out, const nlohmann::ordered_json& report);

// Reads the values for write_comparison() from a file of mluop_perf --json. Throws an exception that names the
// file if it cannot be read, is not such a file, or lacks a value.
Report read_report(const std::string& file);

}  // namespace mluop::perf
