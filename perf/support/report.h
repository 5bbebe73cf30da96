// All figures of a run, for people and for programs.
#pragma once

#include <iosfwd>
#include <vector>

#include "perf/support/machine.h"
#include "perf/support/measure.h"

namespace mluop::perf {

struct Report {
  Machine machine;
  std::vector<Result> results;  // the cases of an operator next to each other
};

// At most 100 columns, with the machine above and the meaning of the columns below.
void write_table(std::ostream& out, const Report& report);

// Every figure with its samples, sizes and limits; times in seconds.
void write_json(std::ostream& out, const Report& report);

}  // namespace mluop::perf
