// Times several things in turns with Google Benchmark, so that whatever drifts on the machine (memory bandwidth,
// clock, neighbours) meets all of them alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mluop::perf {

// Wall-clock seconds of a call, one figure for each repetition.
using Samples = std::vector<double>;

struct Timed {
  std::string name;
  std::function<void()> run;
  int64_t calls;                      // of one repetition, one right after the other
  std::function<void()> before = {};  // each call, not timed
};

// Of a call, in wall-clock time.
inline double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return seconds.count();
}

// The calls that fill a repetition, which lasts a few milliseconds at least, and about how long it takes.
struct Repetition {
  int64_t calls;
  double seconds;
};

// Calls `run` twice.
Repetition repetition_of(const std::function<void()>& run);

// The samples of each entry, in their order. The repetitions of all entries run in random order.
std::vector<Samples> time_in_turns(const std::vector<Timed>& entries, int repetitions);

// The middle sample, or the mean of the two; NaN if there are none.
double median(Samples samples);

}  // namespace mluop::perf
