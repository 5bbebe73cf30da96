// What the figures were measured on.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mluop::perf {

struct Machine {
  std::string library;             // "0.1.0"
  std::string cpu;                 // "AMD EPYC"; "unknown CPU" where the system does not tell
  std::string instruction_set;     // of the limits: "AVX-512"
  std::string simd_limit;          // of the library: MLUOP_OMP_SIMD, or empty
  std::map<int, double> fma_peak;  // floating-point operations a second, of so many threads together
};

// Without the peak.
Machine describe_machine();

// Measures the peak of each number of threads; keeps what is higher, for nothing makes a peak too high. A fraction
// of a second each.
void raise_fma_peak(Machine& machine, const std::vector<int>& threads);

}  // namespace mluop::perf
