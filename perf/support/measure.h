// From a case to its figures.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perf/support/case.h"
#include "perf/support/timing.h"

namespace mluop::perf {

enum class Cache {
  kWarm,  // calls follow each other
  kCold,  // other memory is read and written between them
};

// A multiple of a case's own size.
struct Size {
  std::string name;  // "1/8"
  double factor;
};

// At which a case is measured.
struct Settings {
  Size size;
  int threads;
  std::vector<Cache> caches;
};

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
  Size size;
  int threads = 0;
  Cache cache = Cache::kWarm;
  std::string problem;  // empty: verified, and measured
  uint64_t checksum = 0;
  Work work{};
  Samples latency;        // the operator
  Samples twin_ordinary;  // its streaming twin, with either kind of stores
  Samples twin_non_temporal;
  // Of warm caches alone.
  Samples first_call;  // of a handle
  Samples floor;       // empty: the case has none
  std::vector<NamedSamples> baselines;
  std::optional<Memory> memory;
};

// Of a measured result.
struct Figures {
  double latency, twin;  // median seconds; twin: of the better stores
  double first_call;     // median seconds; NaN if there is none
  double flops;          // operations a second
  double io_efficiency, compute_efficiency;
  bool io_bound;                  // the bytes take longer than the operations at best
  double binding_efficiency;      // of the side that is the bound
  double floor;                   // median seconds; NaN if there is none
  double limit_efficiency;        // of what takes longest at best: bytes, operations or floor; NaN without a floor
  std::vector<double> speed_ups;  // over each baseline
  double memory_overhead;         // workspace and growth over the tensors; NaN if there is no figure
};

// fma_peak: by the number of threads, that of the result among them.
Figures figures(const Result& result, const std::map<int, double>& fma_peak);

// "warm" or "cold".
std::string cache_name(Cache cache);

// Prepares, verifies and times one case, and frees it: a result for each kind of cache. A case that throws or
// fails verification is not timed and comes back, once, with the problem. Every step is announced on `progress`,
// all on one line.
std::vector<Result> measure(const CaseSpec& spec, const Settings& settings, std::ostream& progress);

}  // namespace mluop::perf
