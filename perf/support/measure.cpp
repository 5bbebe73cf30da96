#include "perf/support/measure.h"

#include <algorithm>
#include <exception>
#include <iomanip>
#include <ostream>

#include "perf/support/twin.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

constexpr int kRepetitions = 21;

void measure_into(Result& result, const CaseSpec& spec, std::ostream& progress) {
  progress << " preparing ..." << std::flush;
  const auto measured = spec.prepare();
  result.work = measured->work();
  progress << " verifying ..." << std::flush;
  result.problem = measured->verify();
  if (!result.problem.empty()) return;
  result.checksum = measured->checksum();
  progress << ' ' << checksum_text(result.checksum) << ", timing ..." << std::flush;
  Twin twin(result.work.read_bytes, result.work.write_bytes, result.threads, measured->largest_input());
  const auto run = [&] { measured->run(); };
  const auto run_serial = [&] { measured->run_serial(); };
  // The twin is repeated as the operator is, so that both find the caches alike.
  const int64_t calls = calls_of_repetition(run);
  const auto samples = time_in_turns({{"operator", run, calls},
                                      {"twin_ordinary", [&] { twin.run(Stores::kOrdinary); }, calls},
                                      {"twin_non_temporal", [&] { twin.run(Stores::kNonTemporal); }, calls},
                                      {"serial", run_serial, calls_of_repetition(run_serial)}},
                                     kRepetitions);
  result.latency = samples[0];
  result.twin_ordinary = samples[1];
  result.twin_non_temporal = samples[2];
  result.serial = samples[3];
  progress << ' ' << std::fixed << std::setprecision(3) << median(result.latency) * 1e3 << " ms" << std::endl;
}

}  // namespace

Figures figures(const Result& result, double fma_peak) {
  const double latency = median(result.latency);
  const double twin = std::min(median(result.twin_ordinary), median(result.twin_non_temporal));
  const double serial = median(result.serial);
  const double compute = static_cast<double>(result.work.ops) / fma_peak;
  return {latency, twin, serial, twin / latency, compute / latency, twin >= compute, serial / latency};
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
