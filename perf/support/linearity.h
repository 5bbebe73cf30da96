// The linearity table: how the latency of a case grows with its work.
#pragma once

#include <iosfwd>
#include <map>
#include <span>

#include "perf/support/measure.h"

namespace mluop::perf {

// For each case that was measured at size 1 and at other sizes, writes latency / work and latency / stream bound
// relative to size 1. Work is operations if they bind at size 1, else bytes of inputs and outputs. Marks entries
// in which both ratios are above 1, or both below, by more than 15 %. Writes nothing if there is no such case.
// Four other sizes take 100 columns.
void write_linearity(std::ostream& out, std::span<const Result> results, const std::map<int, double>& fma_peak);

}  // namespace mluop::perf
