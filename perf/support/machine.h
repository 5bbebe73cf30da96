// What the figures were measured on.
#pragma once

#include <string>

namespace mluop::perf {

struct Machine {
  std::string library;          // "0.1.0"
  std::string cpu;              // "AMD EPYC"; "unknown CPU" where the system does not tell
  std::string instruction_set;  // of the limits: "AVX-512"
  std::string simd_limit;       // of the library: MLUOP_OMP_SIMD, or empty
  int threads;
  double fma_peak;  // floating-point operations a second of all threads
};

// Measures the peak: takes a fraction of a second.
Machine describe_machine();

}  // namespace mluop::perf
