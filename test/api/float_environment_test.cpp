// Operators in a floating-point environment of the caller: flush-to-zero, rounding modes, unmasked exceptions. The
// results have the bits of the default environment, and the environment of each thread is the same afterwards.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fpu_control.h>
#endif

#include "ops/operator_cases.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// The control register, and its bits that flush subnormal results and operands.
#if defined(__x86_64__)
constexpr unsigned kFlush = 0x8040;
unsigned control() { return _mm_getcsr(); }
void set_control(unsigned control) { _mm_setcsr(control); }
#else
constexpr unsigned kFlush = 1U << 24;
unsigned control() {
  fpu_control_t control;
  _FPU_GETCW(control);
  return control;
}
void set_control(fpu_control_t control) { _FPU_SETCW(control); }
#endif

// Each control register with values that show its effect.
constexpr struct CallerEnvironment {
  const char* name;
  std::initializer_list<Magnitude> magnitudes;
  void (*apply)();
} kEnvironments[] = {
    {"flush-to-zero", {Magnitude::kSubnormal}, [] { set_control(control() | kFlush); }},
    {"upward, with a flag",
     {Magnitude::kUsual},
     [] {
       std::fesetround(FE_UPWARD);
       std::feraiseexcept(FE_DIVBYZERO);
     }},
    {"toward zero", {Magnitude::kUsual}, [] { std::fesetround(FE_TOWARDZERO); }},
    {"unmasked",
     {Magnitude::kSubnormal, Magnitude::kOverflow},
     [] {
       std::feclearexcept(FE_ALL_EXCEPT);
       feenableexcept(FE_ALL_EXCEPT);
     }},
};

// What a thread can observe of its environment.
struct Observed {
  static Observed here() {
    return {std::fegetround(), fegetexcept(), std::fetestexcept(FE_ALL_EXCEPT), control()};
  }
  bool operator==(const Observed&) const = default;

  int rounding, unmasked, flags;
  unsigned control_register;
};

constexpr int kMaxThreads = 4;
using OfThreads = std::array<Observed, kMaxThreads>;

OfThreads observe(int threads) {
  OfThreads seen{};
#pragma omp parallel num_threads(threads)
  seen[static_cast<size_t>(omp_get_thread_num())] = Observed::here();
  return seen;
}

// Runs the call with the environment applied in the caller, and in its team too if `whole_team`. No check runs
// between the regions, since it would run in that environment.
void expect_success(const OperatorCall& call, const CallerEnvironment& environment, int threads, bool whole_team) {
  std::array<std::fenv_t, kMaxThreads> originals;
#pragma omp parallel num_threads(threads)
  {
    std::fegetenv(&originals[static_cast<size_t>(omp_get_thread_num())]);
    if (whole_team || omp_get_thread_num() == 0) environment.apply();
  }
  const OfThreads before = observe(threads);
  const mluOpStatus_t status = call.run();
  const OfThreads after = observe(threads);
#pragma omp parallel num_threads(threads)
  std::fesetenv(&originals[static_cast<size_t>(omp_get_thread_num())]);
  EXPECT_EQ(status, MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  // OpenMP may have replaced threads other than the caller; new threads inherit the environment of the caller.
  EXPECT_TRUE(whole_team ? before == after : before[0] == after[0]) << "the environment has changed";
}

// The bits do not depend on the number of threads: the expected bits are computed with one thread (native), or
// with the same number of tasks (device).
void expect_independence(const OperatorCase& test, Magnitude magnitude, mluOpOmpAlgorithm_t algorithm,
                         int threads) {
  const ScopedThreads scope(threads);
  const bool is_native = algorithm == MLUOP_OMP_ALGORITHM_NATIVE;
  const Handle handle(algorithm);
  const OperatorCall usual(handle, test.made);
  {
    const ScopedThreads baseline(is_native ? 1 : threads);
    require(usual.run());
  }
  const bool whole_team = threads == kMaxThreads;
  for (const CallerEnvironment& environment : kEnvironments) {
    if (std::ranges::find(environment.magnitudes, magnitude) == environment.magnitudes.end()) continue;
    SCOPED_TRACE(std::string(environment.name) + (whole_team ? " in the team" : " in the caller"));
    const OperatorCall call(handle, test.made);
    expect_success(call, environment, threads, whole_team);
    EXPECT_TRUE(call.intact());
    if (is_native || !call.op().atomic_sums) {
      EXPECT_TRUE(call.contents() == usual.contents()) << "the results differ";
    }
  }
}

TEST(ApiFloatEnvironment, OperatorsAreIndependent) {
  MLUOP_LABELS(kManyThreads, kSlow);
  for (const auto magnitude : {Magnitude::kUsual, Magnitude::kSubnormal, Magnitude::kOverflow}) {
    // The numbers of threads take turns.
    size_t turn = 0;
    for (const OperatorCase& test : operator_cases(magnitude)) {
      ++turn;
      for (const auto algorithm : algorithms_of(test)) {
        const int threads = (turn + (algorithm == MLUOP_OMP_ALGORITHM_DEVICE)) % 2 == 0 ? 2 : kMaxThreads;
        SCOPED_TRACE(test.name + ' ' + text_of(algorithm) + ' ' + std::to_string(threads));
        expect_independence(test, magnitude, algorithm, threads);
      }
    }
  }
}

// Threads that OpenMP starts in a call inherit the environment of the caller, as in the caller's parallel regions.
TEST(ApiFloatEnvironment, NewThreadsInheritThatOfTheCaller) {
  const OperatorCase test = first_operator_case();
  OfThreads seen{};
  // A new host thread has a new team, whose threads do not exist yet.
  std::thread([&] {
    omp_set_num_threads(kMaxThreads);
    std::fesetround(FE_DOWNWARD);
    const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
    const OperatorCall call(handle, test.made);
    call.run();
    seen = observe(kMaxThreads);
  }).join();
  for (const Observed& thread : seen) EXPECT_EQ(thread.rounding, FE_DOWNWARD);
}

}  // namespace
}  // namespace mluop::test
