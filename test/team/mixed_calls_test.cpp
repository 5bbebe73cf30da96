// All operators and both algorithms on several host threads, in parallel regions of the caller, with changing
// numbers of threads, and with teams of 512 tasks. Every result has the bits of a serial call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

// Calls of all operators and element types. Their results are the same bits in both algorithms, in any order of
// additions. An object may be used by several threads at a time.
class MixedCalls {
 public:
  // Runs each call once, on one thread, for the results that later calls must have.
  explicit MixedCalls(int64_t bytes = 24 << 10) {
    const auto highest = [](int64_t, int64_t high) { return high; };
    for (const cases::Operator& op : cases::operators()) {
      for (const mluOpDataType_t dtype : op.dtypes) {
        const cases::Recipe recipe = draw_recipe(op, dtype, highest, bytes);
        const cases::Case made = self_contained(with_values(op.make(recipe), Values::kIntegers, recipe.seed));
        const ScopedThreads one(1);
        const Handle handle;
        const OperatorCall call(handle, made);
        require(call.run());
        calls_.push_back({made, call.outputs()});
      }
    }
  }

  size_t size() const { return calls_.size(); }
  const cases::Operator& op(size_t i) const { return cases::operator_of(calls_[i].made.op_name, {}); }
  // Whether call number i % size() has the result of the first run. No other thread may change the algorithm of
  // the handle meanwhile.
  bool equals_serial(size_t i, mluOpHandle_t handle) const { return calls_[i % size()].solved_by(handle); }
  // The number of calls from number `first` on, `count` of them, that do not.
  int failures(size_t first, size_t count, mluOpHandle_t handle) const {
    int failures = 0;
    for (size_t i = first; i < first + count; ++i) failures += equals_serial(i, handle) ? 0 : 1;
    return failures;
  }
  int failures(mluOpHandle_t handle) const { return failures(0, size(), handle); }

 private:
  std::vector<SolvedCase> calls_;
};

constexpr int kHostThreads = 8;
constexpr int kCalls = (kThreadSanitizer ? 800 : 10000) / kHostThreads;  // of each thread

// Runs body(thread) on kHostThreads threads and returns the sum of what it returned.
template <class Body>
int sum_of_threads(const Body& body) {
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kHostThreads; ++i) {
    threads.emplace_back([&, i] {
      omp_set_num_threads(1 + i % 4);
      sum += body(static_cast<size_t>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sum;
}

TEST(TeamMixedCalls, AHandleForEachThread) {
  const MixedCalls calls;
  EXPECT_EQ(sum_of_threads([&](size_t thread) {
              const Handle handle;
              int failures = 0;
              for (size_t i = 0; i < kCalls; ++i) {
                require(mluOpOmpSetAlgorithm(handle, kAlgorithms[i / 3 % 2]));
                failures += calls.failures(thread + i, 1, handle);
              }
              return failures;
            }),
            0);
}

// Large enough for a native team of several tasks.
TEST(TeamMixedCalls, OneHandleForAllThreads) {
  const MixedCalls calls(96 << 10);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle shared(algorithm);
    EXPECT_EQ(sum_of_threads([&](size_t thread) {
                const Handle own(algorithm);
                return calls.failures(thread, kCalls / 20, shared) + calls.failures(thread, kCalls / 20, own);
              }),
              0);
  }
}

TEST(TeamMixedCalls, ThreadCountChangesBetweenCalls) {
  const MixedCalls calls(48 << 10);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    for (const int count : {1, 3, 32, 2, 7}) {
      SCOPED_TRACE(std::to_string(count) + " threads, " + text_of(algorithm));
      const ScopedThreads threads(count);
      EXPECT_EQ(calls.failures(handle), 0);
    }
  }
}

// Each thread of a region, and of a region inside a region, calls with a handle of its own and with one for all. A
// team of such a call has one thread unless OpenMP may nest regions.
TEST(TeamMixedCalls, InParallelRegionsOfTheCaller) {
  // Without nested teams under ThreadSanitizer: libarcher loses the end of a nested team whose threads libomp moves
  // to another one, and reports races between the two.
  constexpr int kMaxLevels = kThreadSanitizer ? 1 : 3;
  const MixedCalls calls;
  const int levels_before = omp_get_max_active_levels();
  const ScopedThreads threads(3);
  for (const auto algorithm : kAlgorithms) {
    const Handle shared(algorithm);
    for (const int outer : {1, 2}) {
      for (int levels = outer; levels <= kMaxLevels; ++levels) {
        SCOPED_TRACE(std::to_string(outer) + " outer threads, " + std::to_string(levels) + " levels, " +
                     text_of(algorithm));
        omp_set_max_active_levels(levels);
        std::atomic<int> failures{0};
#pragma omp parallel num_threads(outer)
#pragma omp parallel num_threads(4 - outer)
        {
          const Handle own(algorithm);
          failures += calls.failures(own) + calls.failures(shared);
        }
        EXPECT_EQ(failures, 0);
      }
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
    failures += calls.failures(i, 1, shared);
  }
  EXPECT_EQ(failures, 0);
}

// Teams of 512 tasks, on a thread each and on two threads in turn: all operators, and one whose operands pay for
// as many native tasks, 32 KiB each. The numbers are exact unless OMP_THREAD_LIMIT provides fewer threads.
TEST(TeamMixedCalls, ManyTasks) {
  constexpr int kManyTasks = kThreadSanitizer ? 64 : 512;
  const MixedCalls calls;
  const cases::Case made = make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                     {{"batch_size", 1},
                                      {"num_points", 60 * kManyTasks},
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
    EXPECT_EQ(calls.failures(native), 0);
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_TRUE(calls.equals_serial(i, device)) << calls.op(i).name;
      if (!calls.op(i).has_device_algorithm) continue;
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
