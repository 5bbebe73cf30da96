#include "case/timing.h"

#include <algorithm>
#include <map>
#include <vector>

#include "case/machine/fma_peak.h"
#include "case/machine/parallel.h"
#include "case/machine/stream_bound.h"
#include "case/machine/timing.h"

namespace mluop::cases {
namespace {

double median_of(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

double fma_peak(int threads) {
  static std::map<int, double> peaks;
  const auto [peak, added] = peaks.try_emplace(threads);
  if (added) peak->second = machine::measure_fma_peak(threads);
  return peak->second;
}

}  // namespace

void set_tasks(int tasks) {
  static const int initial = machine::thread_count();
  machine::set_thread_count(tasks > 0 ? tasks : initial);
}

Timing measure(const std::function<void()>& call, const Work& work, int calls) {
  const int threads = machine::thread_count();
  machine::StreamBound bound(work.read_bytes, work.write_bytes, threads, {});
  std::vector<double> latency, ordinary, non_temporal;
  for (int i = 0; i < calls; ++i) {
    latency.push_back(machine::seconds_of(call));
    ordinary.push_back(machine::seconds_of([&] { bound.run(machine::Stores::kOrdinary); }));
    non_temporal.push_back(machine::seconds_of([&] { bound.run(machine::Stores::kNonTemporal); }));
  }
  Timing timing{median_of(latency), 0, 0};
  timing.io_efficiency = std::min(median_of(ordinary), median_of(non_temporal)) / timing.latency;
  if (work.ops > 0) timing.compute_efficiency = static_cast<double>(work.ops) / fma_peak(threads) / timing.latency;
  return timing;
}

}  // namespace mluop::cases
