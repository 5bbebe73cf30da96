// Does the cost of a case grow as its work does?
#pragma once

#include <iosfwd>
#include <map>
#include <span>

#include "perf/support/measure.h"

namespace mluop::perf {

// For each case that was measured at size 1 and at others: its time / work at those, relative to that at size 1,
// and the same of its time / twin. Work is operations where they are the bound at size 1, else bytes of input and
// output. Marked where both are above 1, or both below, by more than 15 %. Four sizes besides 1 are 100 columns;
// without such a case there is no table.
void write_linearity(std::ostream& out, std::span<const Result> results, const std::map<int, double>& fma_peak);

}  // namespace mluop::perf
