#include "case/machine/fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "case/machine/fma_peak.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "case/machine/parallel.h"
#include "case/machine/timing.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::machine {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent chains: enough for two FMA units with a latency of six cycles; with both operands they fit 16
// registers.
constexpr int kChains = 12;
constexpr int64_t kSteps = int64_t{1} << 20;

// Returns the number of operations. Reads and writes *result, so that the compiler keeps the loop.
double fma_loop(float* result) {
  const hn::ScalableTag<float> d;
  // Converges to 1: no overflow, no subnormals. Different start values keep the compiler from merging the chains.
  const auto factor = hn::Set(d, 0.5F), addend = hn::Set(d, 0.5F);
  hn::Vec<decltype(d)> chains[kChains];
  HWY_UNROLL(12) for (int i = 0; i < kChains; ++i) chains[i] = hn::Set(d, *result + static_cast<float>(i));
  for (int64_t step = 0; step < kSteps; ++step) {
    HWY_UNROLL(12) for (int i = 0; i < kChains; ++i) chains[i] = hn::MulAdd(chains[i], factor, addend);
  }
  for (const auto& chain : chains) *result += hn::GetLane(chain);
  return 2.0 * kSteps * kChains * static_cast<double>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::machine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::machine {
namespace {

HWY_EXPORT(fma_loop);

constexpr int kRepetitions = 15;

}  // namespace

double measure_fma_peak(int threads) {
  double ops = 0;
  const auto run = [&] {
    parallel(threads, [&](int id) {
      float result = 0;
      const double done = HWY_DYNAMIC_DISPATCH(fma_loop)(&result);
      if (id == 0) ops = done * threads;
    });
  };
  run();  // starts the threads
  double seconds = seconds_of(run);
  for (int i = 1; i < kRepetitions; ++i) seconds = std::min(seconds, seconds_of(run));
  return ops / seconds;
}

}  // namespace mluop::machine
#endif
