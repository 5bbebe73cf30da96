#include "perf/support/measure.h"

#include <algorithm>
#include <exception>
#include <iomanip>
#include <limits>
#include <ostream>

#include "perf/support/resident.h"
#include "perf/support/twin.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

// Fewer where they take long together.
constexpr int kMostRepetitions = 21, kLeastRepetitions = 5;
constexpr double kCaseSeconds = 4;

void measure_into(Result& result, const CaseSpec& spec, std::ostream& progress) {
  progress << " preparing ..." << std::flush;
  const auto measured = spec.prepare();
  result.work = measured->work();
  if (const auto footprint = measured->footprint()) {
    const auto growth = resident_growth([&] { measured->run(); });
    if (growth) result.memory = {*footprint, *growth};
  }
  progress << " verifying ..." << std::flush;
  result.problem = measured->verify();
  if (!result.problem.empty()) return;
  result.checksum = measured->checksum();
  progress << ' ' << checksum_text(result.checksum) << ", timing ..." << std::flush;
  Twin twin(result.work.read_bytes, result.work.write_bytes, result.threads, measured->largest_input());
  const auto run = [&] { measured->run(); };
  // The twin is repeated as the operator is, so that both find the caches alike.
  const auto [calls, seconds] = repetition_of(run);
  std::vector<Timed> entries = {{"operator", run, calls},
                                {"twin_ordinary", [&] { twin.run(Stores::kOrdinary); }, calls},
                                {"twin_non_temporal", [&] { twin.run(Stores::kNonTemporal); }, calls}};
  const size_t own = entries.size();
  double all_seconds = seconds;
  for (const Baseline& baseline : measured->baselines()) {
    const auto repetition = repetition_of(baseline.run);
    entries.push_back({baseline.name, baseline.run, repetition.calls});
    all_seconds += repetition.seconds;
  }
  const int repetitions = static_cast<int>(
      std::clamp(kCaseSeconds / all_seconds, double{kLeastRepetitions}, double{kMostRepetitions}));
  const auto samples = time_in_turns(entries, repetitions);
  result.latency = samples[0];
  result.twin_ordinary = samples[1];
  result.twin_non_temporal = samples[2];
  for (size_t i = own; i < entries.size(); ++i) result.baselines.push_back({entries[i].name, samples[i]});
  progress << ' ' << std::fixed << std::setprecision(3) << median(result.latency) * 1e3 << " ms" << std::endl;
}

double overhead(const std::optional<Memory>& memory) {
  if (!memory) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(memory->provided.workspace_bytes + memory->resident_growth) /
         static_cast<double>(memory->provided.tensor_bytes);
}

}  // namespace

Figures figures(const Result& result, double fma_peak) {
  const double latency = median(result.latency);
  const double twin = std::min(median(result.twin_ordinary), median(result.twin_non_temporal));
  const auto ops = static_cast<double>(result.work.ops);
  const double compute = ops / fma_peak;
  std::vector<double> speed_ups;
  for (const NamedSamples& baseline : result.baselines) speed_ups.push_back(median(baseline.samples) / latency);
  return {latency,
          twin,
          ops / latency,
          twin / latency,
          compute / latency,
          twin >= compute,
          std::max(twin, compute) / latency,
          speed_ups,
          overhead(result.memory)};
}

Result measure(const CaseSpec& spec, int threads, std::ostream& progress) {
  Result result;
  result.op = spec.op;
  result.name = spec.name;
  result.dtype = spec.dtype;
  result.mode = spec.mode;
  result.threads = threads;
  try {
    measure_into(result, spec, progress);
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
  if (!result.problem.empty()) progress << " FAILED: " << result.problem << std::endl;
  return result;
}

}  // namespace mluop::perf
