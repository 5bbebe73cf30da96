#include "perf/support/fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/support/fma_peak.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "perf/support/parallel.h"
#include "perf/support/timing.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent chains: enough for two FMA units with a latency of six cycles; with both operands they fit 16
// registers.
constexpr size_t kChains = 12;
constexpr int64_t kSteps = int64_t{1} << 20;

template <size_t... kChain>
HWY_INLINE float multiply_add(float start, std::index_sequence<kChain...>) {
  const hn::ScalableTag<float> d;
  // Converges to 1: no overflow, no subnormals. Different start values keep the compiler from merging the chains.
  const auto factor = hn::Set(d, 0.5F), addend = hn::Set(d, 0.5F);
  hn::Vec<decltype(d)> chains[] = {hn::Set(d, start + static_cast<float>(kChain))...};
  for (int64_t step = 0; step < kSteps; ++step) {
    ((chains[kChain] = hn::MulAdd(chains[kChain], factor, addend)), ...);
  }
  return (hn::GetLane(chains[kChain]) + ...);
}

// Returns the number of operations. Reads and writes *result, so that the compiler keeps the loop.
double fma_loop(float* result) {
  *result = multiply_add(*result, std::make_index_sequence<kChains>());
  return 2.0 * kSteps * kChains * static_cast<double>(hn::Lanes(hn::ScalableTag<float>()));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(fma_loop);

constexpr int kRepetitions = 15;

}  // namespace

double measure_fma_peak(int threads) {
  std::vector<float> results(static_cast<size_t>(threads));
  double ops = 0;
  const auto run = [&] {
    parallel(threads, [&](int id) {
      float result = 0;
      const double done = HWY_DYNAMIC_DISPATCH(fma_loop)(&result);
      results[static_cast<size_t>(id)] = result;
      if (id == 0) ops = done * threads;
    });
  };
  run();  // starts the threads
  double seconds = seconds_of(run);
  for (int i = 1; i < kRepetitions; ++i) seconds = std::min(seconds, seconds_of(run));
  return ops / seconds;
}

}  // namespace mluop::perf
#endif
