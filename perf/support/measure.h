// From a case to its figures.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "perf/support/case.h"
#include "perf/support/timing.h"

namespace mluop::perf {

struct Result {
  std::string op, name, dtype, mode;
  int threads = 0;
  std::string problem;  // empty: verified, and measured
  uint64_t checksum = 0;
  Work work{};
  Samples latency;        // the operator
  Samples twin_ordinary;  // its streaming twin, with either kind of stores
  Samples twin_non_temporal;
  Samples serial;  // the serial loop
};

// Of a measured result.
struct Figures {
  double latency, twin, serial;  // median seconds; twin: of the better stores
  double io_efficiency, compute_efficiency;
  bool io_bound;  // the bytes take longer than the operations at best
  double speed_up;
};

Figures figures(const Result& result, double fma_peak);

// Prepares, verifies and times one case, and frees it. A case that throws or fails verification is not timed and
// comes back with the problem. Every step is announced on `progress`, all on one line.
Result measure(const CaseSpec& spec, int threads, std::ostream& progress);

}  // namespace mluop::perf
