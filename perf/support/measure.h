// From a case to its figures.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "perf/support/case.h"
#include "perf/support/timing.h"

namespace mluop::perf {

struct NamedSamples {
  std::string name;
  Samples samples;
};

// What a call takes.
struct Memory {
  Footprint provided;
  int64_t resident_growth;  // of the process, at the peak of the first call of a handle
};

struct Result {
  std::string op, name, dtype, mode;
  int threads = 0;
  std::string problem;  // empty: verified, and measured
  uint64_t checksum = 0;
  Work work{};
  Samples latency;        // the operator
  Samples twin_ordinary;  // its streaming twin, with either kind of stores
  Samples twin_non_temporal;
  std::vector<NamedSamples> baselines;
  std::optional<Memory> memory;
};

// Of a measured result.
struct Figures {
  double latency, twin;  // median seconds; twin: of the better stores
  double flops;          // operations a second
  double io_efficiency, compute_efficiency;
  bool io_bound;                  // the bytes take longer than the operations at best
  double binding_efficiency;      // of the side that is the bound
  std::vector<double> speed_ups;  // over each baseline
  double memory_overhead;         // workspace and growth over the tensors; NaN if there is no figure
};

Figures figures(const Result& result, double fma_peak);

// Prepares, verifies and times one case, and frees it. A case that throws or fails verification is not timed and
// comes back with the problem. Every step is announced on `progress`, all on one line.
Result measure(const CaseSpec& spec, int threads, std::ostream& progress);

}  // namespace mluop::perf
