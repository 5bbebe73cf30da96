// Measures a case: prepares and verifies it, times it with its bounds and baselines, and derives the figures.
#pragma once

#include <cmath>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perf/support/case.h"
#include "perf/support/measures.h"

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

struct Result : CaseName {
  Size size;
  int threads = 0;
  Cache cache = Cache::kWarm;
  std::string problem;  // empty: verified and measured
  uint64_t checksum = 0;
  Work work{};
  double fma_peak = 0;  // operations per second of `threads` threads
  Samples latency;
  Samples stream_bound_ordinary, stream_bound_non_temporal;  // by kind of store
  // Warm caches only.
  Samples first_call;         // the first call of a handle
  Samples algorithmic_bound;  // empty: the case has none
  std::vector<NamedSamples> baselines;
  std::vector<NamedSamples> steps;
  std::optional<Memory> memory;
  double other_load = 0;  // processors that other processes used while the case was timed

  // Whether other processes took processors that the threads of the case needed.
  bool is_disturbed() const;
};

// Derived from a measured result. Times are median seconds; a figure that does not exist is NaN.
struct Figures {
  explicit Figures(const Result& result);

  // Whether the stream bound is larger than the compute bound.
  bool io_bound() const { return stream_bound >= compute_bound; }
  double binding_efficiency() const { return std::max(io_efficiency, compute_efficiency); }
  // The largest bound that the case has / latency.
  double limit_efficiency() const {
    return std::isnan(max_bound_efficiency) ? binding_efficiency() : max_bound_efficiency;
  }
  // Whether the algorithmic bound is the largest.
  bool algorithm_bound() const { return limit_efficiency() > binding_efficiency(); }

  double latency;
  double stream_bound;   // with the faster kind of store
  double compute_bound;  // operations / FMA peak
  double algorithmic_bound;
  double io_efficiency;         // stream bound / latency
  double compute_efficiency;    // compute bound / latency
  double max_bound_efficiency;  // the largest of stream, compute and algorithmic bound / latency
};

// Speed-up over a baseline. NaN if the result does not have it.
double speed_up(const Result& result, const std::string& baseline);

// "warm" or "cold".
std::string cache_name(Cache cache);

// "case dtype algorithm t2 x1/2 cold". The size is omitted if it is 1 or `with_size` is false.
std::string title(const Result& result, bool with_size);

// A case and a result for each cache setting; if the case threw or failed verification, a single result with the
// problem.
struct MeasuredCase {
  std::unique_ptr<Case> prepared;
  std::vector<Result> results;
};

// Prepares, verifies and times a case. Leaves fma_peak to the caller. Writes one line to `progress`.
MeasuredCase measure(const CaseSpec& spec, const Settings& settings, std::ostream& progress);

}  // namespace mluop::perf
