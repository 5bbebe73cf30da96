#include "case/machine/timing.h"

#include <algorithm>
#include <limits>
#include <random>

namespace mluop::machine {
namespace {

constexpr double kMinRepetitionSeconds = 0.005;
constexpr double kMinCallSeconds = 1e-7;  // resolution of a single measurement

double seconds_of_repetition(const Timed& entry) {
  double seconds = 0;
  if (entry.before) {
    for (int64_t call = 0; call < entry.calls; ++call) {
      entry.before();
      seconds += seconds_of(entry.run);
    }
    return seconds;
  }
  entry.run();  // not timed: fills the caches
  return seconds_of([&] {
    for (int64_t call = 0; call < entry.calls; ++call) entry.run();
  });
}

}  // namespace

Repetition repetition_of(const std::function<void()>& run) {
  double seconds = seconds_of(run);
  if (seconds < kLongCallSeconds) seconds = seconds_of(run);
  const auto calls = static_cast<int64_t>(kMinRepetitionSeconds / std::max(seconds, kMinCallSeconds)) + 1;
  return {calls, static_cast<double>(calls) * seconds};
}

void time_interleaved(const std::vector<Timed>& entries, int repetitions) {
  std::vector<const Timed*> order;
  for (const Timed& entry : entries) order.insert(order.end(), static_cast<size_t>(repetitions), &entry);
  static std::mt19937 random{std::random_device()()};
  std::ranges::shuffle(order, random);
  for (const Timed* entry : order) {
    entry->samples.push_back(seconds_of_repetition(*entry) / static_cast<double>(entry->calls));
  }
}

double median(Samples samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

}  // namespace mluop::machine
