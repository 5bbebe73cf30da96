// All operators and both algorithms on several host threads, in parallel regions of the caller, and with changing
// numbers of threads. Every result has the bits of a serial call.
#include "team/mixed_calls.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <thread>

#include "support/api.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kHostThreads = 8;
constexpr int kCalls = kThreadSanitizer ? 800 : 10000;  // of all threads together

// Runs body(thread) on kHostThreads threads and returns the sum of what it returned.
template <class Body>
int sum_of_threads(const Body& body) {
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kHostThreads; ++i) {
    threads.emplace_back([&, i] {
      omp_set_num_threads(1 + i % 4);
      sum += body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sum;
}

TEST(TeamMixedCalls, AHandleForEachThread) {
  const MixedCalls calls;
  const auto failures_of_thread = [&](int thread) {
    const Handle handle;
    int failures = 0;
    for (int i = 0; i < kCalls / kHostThreads; ++i) {
      const auto algorithm = kAlgorithms[i / 3 % 2];
      require(mluOpOmpSetAlgorithm(handle, algorithm));
      if (!calls.equals_serial(static_cast<size_t>(thread + i), handle)) ++failures;
    }
    return failures;
  };
  EXPECT_EQ(sum_of_threads(failures_of_thread), 0);
}

TEST(TeamMixedCalls, OneHandleForAllThreads) {
  const MixedCalls calls;
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    const auto failures_of_thread = [&](int thread) {
      int failures = 0;
      for (int i = 0; i < kCalls / kHostThreads / 10; ++i) {
        if (!calls.equals_serial(static_cast<size_t>(thread + i), handle)) ++failures;
      }
      return failures;
    };
    EXPECT_EQ(sum_of_threads(failures_of_thread), 0);
  }
}

TEST(TeamMixedCalls, ThreadCountChangesBetweenCalls) {
  const MixedCalls calls(2);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    for (const int count : {1, 3, 32, 2, 7}) {
      SCOPED_TRACE(std::to_string(count) + " threads, " + text_of(algorithm));
      const ScopedThreads threads(count);
      EXPECT_TRUE(calls.all_equal_serial(handle));
    }
  }
}

// Without nested teams under ThreadSanitizer: libarcher loses the end of a nested team whose threads libomp moves
// to another one, and reports races between the two.
constexpr int kMaxLevels = kThreadSanitizer ? 1 : 3;

// Each thread of a region calls, with handles of its own and with one for all. A team of such a call has one
// thread unless OpenMP may nest regions.
TEST(TeamMixedCalls, InParallelRegionsOfTheCaller) {
  const MixedCalls calls;
  const int levels_before = omp_get_max_active_levels();
  const ScopedThreads threads(3);
  for (const auto algorithm : kAlgorithms) {
    const Handle shared(algorithm);
    for (int levels = 1; levels <= kMaxLevels; ++levels) {
      SCOPED_TRACE(std::to_string(levels) + " levels, " + text_of(algorithm));
      omp_set_max_active_levels(levels);
      int failures = 0;
#pragma omp parallel num_threads(3) reduction(+ : failures)
      {
        const Handle own(algorithm);
        if (!calls.all_equal_serial(own)) ++failures;
        if (!calls.all_equal_serial(shared)) ++failures;
      }
      EXPECT_EQ(failures, 0);
    }
  }
  omp_set_max_active_levels(levels_before);
}

TEST(TeamMixedCalls, InNestedParallelRegionsOfTheCaller) {
  if (kMaxLevels == 1) GTEST_SKIP() << "no nested teams under ThreadSanitizer";
  const MixedCalls calls;
  const int levels_before = omp_get_max_active_levels();
  const ScopedThreads threads(2);
  for (const auto algorithm : kAlgorithms) {
    const Handle shared(algorithm);
    for (int levels = 2; levels <= kMaxLevels; ++levels) {
      SCOPED_TRACE(std::to_string(levels) + " levels, " + text_of(algorithm));
      omp_set_max_active_levels(levels);
      std::atomic<int> failures{0};
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
      {
        const Handle own(algorithm);
        if (!calls.all_equal_serial(own)) ++failures;
        if (!calls.all_equal_serial(shared)) ++failures;
      }
      EXPECT_EQ(failures, 0);
    }
  }
  omp_set_max_active_levels(levels_before);
}

// A task of the caller may migrate between the threads of its team only where it waits, which no call does.
TEST(TeamMixedCalls, InTasksOfTheCaller) {
  const MixedCalls calls;
  std::atomic<int> failures{0};
  const Handle shared;
#pragma omp parallel num_threads(3)
#pragma omp single
  for (size_t i = 0; i < 2 * calls.size(); ++i) {
#pragma omp task firstprivate(i)
    if (!calls.equals_serial(i, shared)) ++failures;
  }
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace mluop::test
