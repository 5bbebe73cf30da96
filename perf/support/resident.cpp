#include "perf/support/resident.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace mluop::perf {
namespace {

// The value of a line of /proc/self/status, in bytes.
std::optional<int64_t> status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    std::istringstream words(line);
    std::string label;
    int64_t kib = 0;
    if (words >> label >> kib && label == name + ':') return kib * 1024;
  }
  return std::nullopt;
}

// Sets the peak to the current resident memory.
bool reset_peak() {
  std::ofstream clear("/proc/self/clear_refs");
  return static_cast<bool>(clear << '5' << std::flush);
}

}  // namespace

std::optional<int64_t> resident_growth(const std::function<void()>& run) {
  malloc_trim(0);
  const auto before = status_bytes("VmRSS");
  const bool reset = reset_peak();
  run();
  const auto peak = status_bytes("VmHWM");
  if (!before || !reset || !peak) return std::nullopt;
  return std::max(*peak - *before, int64_t{0});
}

}  // namespace mluop::perf
