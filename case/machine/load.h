// Processor time that other processes take from this one.
#pragma once

#include <chrono>

namespace mluop::machine {

// The number of processors that this process may use. 1 if it is unknown.
int processor_count();

// Counts from its construction on.
class OtherLoad {
 public:
  OtherLoad();

  // Processors of this process that other processes, or the host of a virtual machine, used on average. 0 without
  // Linux's /proc/stat. The error is a tenth of a processor for a second of time.
  double processors() const;

 private:
  std::chrono::steady_clock::time_point start_;
  double all_, own_;  // seconds of the processors
};

}  // namespace mluop::machine
