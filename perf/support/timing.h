// Times several things in turns with Google Benchmark, so that whatever drifts on the machine (memory bandwidth,
// clock, neighbours) meets all of them alike.
#pragma once

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
  int64_t calls;  // of one repetition, one right after the other
};

// The calls that fill a repetition: it lasts a few milliseconds at least. Calls `run` twice.
int64_t calls_of_repetition(const std::function<void()>& run);

// The samples of each entry, in their order. The repetitions of all entries run in random order.
std::vector<Samples> time_in_turns(const std::vector<Timed>& entries, int repetitions);

// The middle sample, or the mean of the two; NaN if there are none.
double median(Samples samples);

}  // namespace mluop::perf
