#include "perf/support/machine.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "mlu_op_omp.h"
#include "perf/support/fma_peak.h"

namespace mluop::perf {
namespace {

std::string cpu_name() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

// Highway's name, except for AVX-512, which Highway calls AVX3.
std::string instruction_set() {
  // The lowest bit is the best instruction set.
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  const std::string name = hwy::TargetName(supported & -supported);
  return name.starts_with("AVX3") ? "AVX-512" : name;
}

std::string library_version() {
  int major = 0, minor = 0, patch = 0;
  mluOpOmpGetVersion(&major, &minor, &patch);
  std::ostringstream version;
  version << major << '.' << minor << '.' << patch;
  return version.str();
}

}  // namespace

Machine describe_machine() {
  const char* simd_limit = std::getenv("MLUOP_OMP_SIMD");
  return {library_version(), cpu_name(), instruction_set(), simd_limit == nullptr ? "" : simd_limit, {}};
}

void update_fma_peak(Machine& machine, const std::vector<int>& threads) {
  for (const int count : threads) {
    double& peak = machine.fma_peak[count];
    peak = std::max(peak, measure_fma_peak(count));
  }
}

}  // namespace mluop::perf
