// The machine and the library that a run measures.
#pragma once

#include <map>
#include <string>

namespace mluop::perf {

struct Machine {
  std::string library;             // version, "0.1.0"
  std::string cpu;                 // "AMD EPYC", or "unknown CPU"
  std::string instruction_set;     // instruction set of the bounds: "AVX-512"
  std::string simd_limit;          // limit of the library: MLUOP_OMP_SIMD, or empty
  std::map<int, double> fma_peak;  // by number of threads: floating-point operations per second
};

// Leaves fma_peak empty.
Machine describe_machine();

}  // namespace mluop::perf
