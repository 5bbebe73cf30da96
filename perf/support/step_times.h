// Times the operators of a call of a network.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "perf/support/measures.h"

namespace mluop::perf {

class StepTimes {
 public:
  // Runs the step and adds its time to the current call. Returns the result of the step.
  template <class Run>
  auto time(const std::string& name, const Run& run) {
    const auto start = std::chrono::steady_clock::now();
    auto result = run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    samples_of(name).back() += seconds.count();
    return result;
  }

  // Call it before the first step of each call.
  void begin_call() {
    ++calls_;
    for (NamedSamples& step : steps_) step.samples.push_back(0);
  }

  // The seconds of each step in each call, in the order of first occurrence.
  const std::vector<NamedSamples>& steps() const { return steps_; }

 private:
  Samples& samples_of(const std::string& name) {
    for (NamedSamples& step : steps_) {
      if (step.name == name) return step.samples;
    }
    steps_.push_back({name, Samples(calls_, 0)});
    return steps_.back().samples;
  }

  size_t calls_ = 0;
  std::vector<NamedSamples> steps_;
};

}  // namespace mluop::perf
