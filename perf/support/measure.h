// Measures a case: prepares and verifies it, times it with its bounds and baselines, and derives the figures.
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
  kWarm,  // operands as the previous call left them
  kCold,  // caches flushed before each call
};

// A multiple of the network size.
struct Size {
  std::string name;  // "1/8"
  double factor;
};

struct Settings {
  Size size;
  int threads;
  std::vector<Cache> caches;
};

// The memory of a call.
struct Memory {
  Footprint provided;
  int64_t resident_growth;  // of the process, during the first call of a handle
};

struct Result {
  std::string op, name, dtype, algorithm;
  Size size;
  int threads = 0;
  Cache cache = Cache::kWarm;
  std::string problem;  // empty: verified and measured
  uint64_t checksum = 0;
  Work work{};
  Samples latency;
  Samples stream_bound_ordinary, stream_bound_non_temporal;  // by kind of store
  // Warm caches only.
  Samples first_call;         // the first call of a handle
  Samples algorithmic_bound;  // empty: the case has none
  std::vector<NamedSamples> baselines;
  std::vector<NamedSamples> steps;
  std::optional<Memory> memory;
};

// Derived from a measured result. Times are median seconds; a figure that does not exist is NaN.
struct Figures {
  double latency;
  double stream_bound;  // of the faster kind of store
  double first_call;
  double flops;               // operations per second
  double io_efficiency;       // stream bound / latency
  double compute_efficiency;  // compute bound (operations / FMA peak) / latency
  bool io_bound;              // the stream bound is larger than the compute bound
  double binding_efficiency;  // the larger of stream and compute bound / latency
  double algorithmic_bound;
  double max_bound_efficiency;    // the largest of stream, compute and algorithmic bound / latency
  std::vector<double> speed_ups;  // over each baseline
  double memory_overhead;         // workspace and resident growth / tensors
};

// fma_peak has an entry for the number of threads of the result.
Figures figures(const Result& result, const std::map<int, double>& fma_peak);

// "warm" or "cold".
std::string cache_name(Cache cache);

// Prepares, verifies, times and frees one case. Returns a result per cache setting; for a case that throws or
// fails verification, a single result with the problem. Writes one line to `progress`.
std::vector<Result> measure(const CaseSpec& spec, const Settings& settings, std::ostream& progress);

}  // namespace mluop::perf
