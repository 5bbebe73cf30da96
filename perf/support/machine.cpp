#include "perf/support/machine.h"

#include <hwy/highway.h>

#include <cstdlib>
#include <fstream>

#include "core/simd.h"
#include "mlu_op_omp.h"

namespace mluop::perf {
namespace {

std::string cpu_name() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::string instruction_set() {
  // The lowest bit is the best instruction set.
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  return name_of_target(supported & -supported);
}

}  // namespace

Machine describe_machine() {
  int major = 0, minor = 0, patch = 0;
  mluOpOmpGetVersion(&major, &minor, &patch);
  const auto version = std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  const char* simd_limit = std::getenv("MLUOP_OMP_SIMD");
  return {version, cpu_name(), instruction_set(), simd_limit == nullptr ? "" : simd_limit, {}};
}

}  // namespace mluop::perf
