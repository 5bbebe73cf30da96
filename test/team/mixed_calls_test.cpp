// All operators and both algorithms on several host threads, in parallel regions of the caller, with changing
// numbers of threads, and with teams of 512 tasks. Every result has the bits of a serial call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "ops/operator_cases.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

// Calls of all operators, with the results of a run on one thread. These are the same bits in
// both algorithms, in any order of additions.
std::vector<SolvedCase> mixed_calls(int64_t bytes = 24 << 10) {
  std::vector<SolvedCase> calls;
  const auto highest = [](int64_t, int64_t high) { return high; };
  size_t turn = 0;
  for (const cases::Operator& op : cases::operators()) {
    for (const mluOpDataType_t dtype : dtypes_in_turns(op, turn++)) {
      const cases::Recipe recipe = draw_recipe(op, dtype, highest, bytes);
      const cases::Case made = self_contained(with_values(op.make(recipe), Values::kIntegers, recipe.seed));
      const ScopedThreads one(1);
      const Handle handle;
      const OperatorCall call(handle, made);
      require(call.run());
      calls.push_back({made, call.outputs()});
    }
  }
  return calls;
}

// The calls whose operators have the algorithm: without a device algorithm both are the native one.
std::vector<SolvedCase> calls_of(const std::vector<SolvedCase>& calls, mluOpOmpAlgorithm_t algorithm) {
  std::vector<SolvedCase> those;
  std::ranges::copy_if(calls, std::back_inserter(those), [&](const SolvedCase& call) {
    return algorithm == MLUOP_OMP_ALGORITHM_NATIVE ||
           cases::operator_of(call.made.op_name, {}).has_device_algorithm;
  });
  return those;
}

// The number of calls with other results. Several threads may call this at a time.
int failures_of(const std::vector<SolvedCase>& calls, mluOpHandle_t handle) {
  return static_cast<int>(
      std::ranges::count_if(calls, [&](const SolvedCase& call) { return !call.solved_by(handle); }));
}

constexpr size_t kHostThreads = 8;
constexpr size_t kCalls = (kThreadSanitizer ? 800 : 10000) / kHostThreads;  // of each thread

// The number of failures if each host thread makes `count` calls: with its handle, whose algorithm changes, and
// every second call with `shared`, unless it is null.
int failures_of_threads(const std::vector<SolvedCase>& calls, size_t count, mluOpHandle_t shared) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kHostThreads; ++thread) {
    threads.emplace_back([&, thread] {
      omp_set_num_threads(static_cast<int>(1 + thread % 4));
      const Handle own;
      for (size_t i = 0; i < count; ++i) {
        require(mluOpOmpSetAlgorithm(own, kAlgorithms[i / 3 % 2]));
        const mluOpHandle_t handle = shared != nullptr && i % 2 == 0 ? shared : own;
        if (!calls[(thread + i) % calls.size()].solved_by(handle)) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

TEST(TeamMixedCalls, AHandleForEachThread) { EXPECT_EQ(failures_of_threads(mixed_calls(), kCalls, nullptr), 0); }

// Sizes large enough for a native team of several tasks.
TEST(TeamMixedCalls, OneHandleForAllThreads) {
  const std::vector<SolvedCase> calls = mixed_calls(96 << 10);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_EQ(failures_of_threads(calls, kCalls / 10, Handle(algorithm)), 0);
  }
}

TEST(TeamMixedCalls, ThreadCountChangesBetweenCalls) {
  const std::vector<SolvedCase> all = mixed_calls(48 << 10);
  for (const auto algorithm : kAlgorithms) {
    const std::vector<SolvedCase> calls = calls_of(all, algorithm);
    const Handle handle(algorithm);
    for (const int count : {1, 3, 32, 2, 7}) {
      SCOPED_TRACE(std::to_string(count) + " threads, " + text_of(algorithm));
      const ScopedThreads threads(count);
      EXPECT_EQ(failures_of(calls, handle), 0);
    }
  }
}

// Each thread of a region, and of a region inside a region, calls with a private handle and with a shared one. A
// team of such a call has one thread unless OpenMP may nest regions.
TEST(TeamMixedCalls, InParallelRegionsOfTheCaller) {
  constexpr struct { int outer, levels; } kRegions[] = {{1, 1}, {1, 3}, {2, 2}, {2, 3}};
  const std::vector<SolvedCase> all = mixed_calls();
  const int levels_before = omp_get_max_active_levels();
  const ScopedThreads threads(3);
  for (const auto algorithm : kAlgorithms) {
    const std::vector<SolvedCase> calls = calls_of(all, algorithm);
    const Handle shared(algorithm);
    for (const auto& region : kRegions) {
      const int outer = region.outer, levels = region.levels;
      // Nested teams are left out under ThreadSanitizer: libarcher loses the end of a nested team whose threads
      // libomp moves to another team, and reports races between the two.
      if (kThreadSanitizer && levels > 1) continue;
      SCOPED_TRACE(std::to_string(outer) + " outer threads, " + std::to_string(levels) + " levels, " +
                   text_of(algorithm));
      omp_set_max_active_levels(levels);
      std::atomic<int> failures{0};
#pragma omp parallel num_threads(outer)
#pragma omp parallel num_threads(4 - outer)
      {
        const Handle own(algorithm);
        failures += failures_of(calls, own) + failures_of(calls, shared);
      }
      EXPECT_EQ(failures, 0);
    }
  }
  omp_set_max_active_levels(levels_before);
}

// A task of the caller may migrate between the threads of its team only at waits; no call of the library waits.
TEST(TeamMixedCalls, InTasksOfTheCaller) {
  const std::vector<SolvedCase> calls = mixed_calls();
  std::atomic<int> failures{0};
  const Handle shared;
#pragma omp parallel num_threads(3)
#pragma omp single
  for (size_t i = 0; i < calls.size(); ++i) {
#pragma omp task firstprivate(i)
    if (!calls[i].solved_by(shared)) ++failures;
  }
  EXPECT_EQ(failures, 0);
}

// Teams of 512 tasks, on 512 threads and on two threads: all operators, and one operator whose operands are large
// enough for 512 native tasks, 32 KiB of points in range each. The numbers are exact unless OMP_THREAD_LIMIT
// provides fewer threads.
TEST(TeamMixedCalls, ManyTasks) {
  MLUOP_LABELS(kSlow);
  constexpr int kManyTasks = kThreadSanitizer ? 64 : 512;
  const std::vector<SolvedCase> calls = mixed_calls();
  const cases::Case made = make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                     {{"batch_size", 1},
                                      {"num_points", 120 * kManyTasks},
                                      {"num_channels", 160},
                                      {"num_voxel_x", 30},
                                      {"num_voxel_y", 30}});
  const SolvedCase pooling = solve(with_values(made, Values::kIntegers, 1));
  const ScopedThreads tasks(kManyTasks);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "64");
  for (const int max_threads : {0, 2, kManyTasks}) {
    SCOPED_TRACE(max_threads);
    const std::string text = std::to_string(max_threads);
    const ScopedEnvironment limit("MLUOP_OMP_MAX_THREADS", max_threads == 0 ? nullptr : text.c_str());
    const int threads = std::min(max_threads == 0 ? kManyTasks : max_threads, omp_get_thread_limit());
    const Handle native, device(MLUOP_OMP_ALGORITHM_DEVICE);
    require(mluOpOmpSetStatistics(native, 1));
    require(mluOpOmpSetStatistics(device, 1));
    EXPECT_EQ(failures_of(calls, native), 0);
    for (const SolvedCase& call : calls_of(calls, MLUOP_OMP_ALGORITHM_DEVICE)) {
      EXPECT_TRUE(call.solved_by(device)) << call.made.op_name;
      for (const Launch& launch : launches_of(device)) {
        EXPECT_EQ(launch.task_dim, kManyTasks) << launch.kernel;
        EXPECT_EQ(launch.threads, threads) << launch.kernel;
      }
    }
    ASSERT_TRUE(pooling.solved_by(native)) << mluOpOmpGetLastError();
    const std::vector<Launch> launches = launches_of(native);
    EXPECT_THAT(launches, ::testing::Contains(::testing::Field(&Launch::task_dim, kManyTasks)));
    EXPECT_THAT(launches, ::testing::Each(::testing::Field(&Launch::threads, ::testing::Le(threads))));
  }
}

}  // namespace
}  // namespace mluop::test
