#include "case/machine/load.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace mluop::machine {
namespace {

cpu_set_t own_processors() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  sched_getaffinity(0, sizeof(processors), &processors);
  return processors;
}

// Busy seconds of the processors of this process: of all processes, interrupts, and what the host has taken.
double busy_seconds() {
  const cpu_set_t processors = own_processors();
  std::ifstream stat("/proc/stat");
  int64_t ticks = 0;
  for (std::string line; std::getline(stat, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
    words >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
    if (!name.starts_with("cpu") || name.size() == 3) continue;
    const int processor = std::stoi(name.substr(3));
    if (processor >= CPU_SETSIZE || !CPU_ISSET(processor, &processors)) continue;
    ticks += user + nice + system + interrupts + soft_interrupts + stolen;
  }
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int processor_count() {
  const cpu_set_t processors = own_processors();
  return std::max(CPU_COUNT(&processors), 1);
}

OtherLoad::OtherLoad() : start_(std::chrono::steady_clock::now()), all_(busy_seconds()), own_(own_seconds()) {}

double OtherLoad::processors() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const double others = (busy_seconds() - all_) - (own_seconds() - own_);
  return std::max(others, 0.0) / elapsed.count();
}

}  // namespace mluop::machine
