// Interleaved timing: drift of the machine (memory bandwidth, clock, other load) affects all entries alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mluop::machine {

// Wall-clock seconds per call, one sample per repetition.
using Samples = std::vector<double>;

struct NamedSamples {
  std::string name;
  Samples samples;
};

struct Timed {
  Samples& samples;  // receives one sample per repetition
  std::function<void()> run;
  int64_t calls;                      // consecutive calls of a repetition
  std::function<void()> before = {};  // runs before each call, not timed
};

// Wall-clock seconds of one call.
template <class Run>
double seconds_of(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return seconds.count();
}

// The number of calls of a repetition, which takes at least a few milliseconds, and its approximate duration.
struct Repetition {
  int64_t calls;
  double seconds;
};

// A call that takes longer is timed once.
constexpr double kLongCallSeconds = 0.25;

// Calls `run` twice, first to fill the caches; a long call only once.
Repetition repetition_of(const std::function<void()>& run);

// Runs the repetitions of all entries in random order.
void time_interleaved(const std::vector<Timed>& entries, int repetitions);

// Returns the mean of the two middle samples if their number is even, NaN if there are none.
double median(Samples samples);

}  // namespace mluop::machine
