// Concurrent use of handles: a handle per thread, one handle for all threads, and calls inside parallel regions of
// the caller.
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

constexpr int kThreads = 6;
constexpr int kCallsOfThread = 20;

// Large enough for a team of several tasks.
SolvedCase pooling(int points, Values values = Values::kFractions) {
  return solve(with_values(
      make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                {{"num_points", points}, {"num_channels", 24}, {"num_voxel_x", 9}, {"num_voxel_y", 7}}),
      values, points));
}

// A case for each thread.
std::vector<SolvedCase> problems() {
  std::vector<SolvedCase> all;
  for (int i = 0; i < kThreads; ++i) all.push_back(pooling(200 + 400 * i));
  return all;
}

// Runs body(i) on kThreads threads and counts those that returned false.
template <class Body>
int failures_of_threads(const Body& body) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      omp_set_num_threads(1 + i % 3);
      if (!body(static_cast<size_t>(i))) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

// A handle for each thread, and one handle for all.
TEST(TeamConcurrency, Handles) {
  const auto all = problems();
  const Handle shared;
  for (const bool is_shared : {false, true}) {
    SCOPED_TRACE(is_shared);
    EXPECT_EQ(failures_of_threads([&](size_t i) {
                const Handle own;
                bool solved = true;
                for (int call = 0; call < kCallsOfThread; ++call) {
                  solved = all[i].solved_by(is_shared ? shared : own) && solved;
                }
                return solved;
              }),
              0);
  }
}

// The last error belongs to the thread of the failing call, also if threads share the handle.
TEST(TeamConcurrency, ErrorsStayInTheirThread) {
  const auto all = problems();
  const Handle handle;
  EXPECT_EQ(failures_of_threads([&](size_t i) {
              bool expected = true;
              for (int round = 0; round < kCallsOfThread; ++round) {
                OperatorCall call(handle, all[i].made);
                call.parameters.set("num_points", -static_cast<int>(i));
                const std::string message = "[mluOpVoxelPoolingForward] num_points is " +
                                            std::to_string(call.parameters.int32("num_points")) +
                                            ", expected at least 1";
                expected = call.run() == MLUOP_STATUS_BAD_PARAM && message == mluOpOmpGetLastError() && expected;
              }
              return expected;
            }),
            0);
}

TEST(TeamConcurrency, InsideAParallelRegionOfTheCaller) {
  const SolvedCase problem = pooling(3000);
  const Handle handle;
  bool solved = false;
#pragma omp parallel num_threads(3)
  {
#pragma omp single
    solved = problem.solved_by(handle);
  }
  EXPECT_TRUE(solved);
}

TEST(TeamConcurrency, InEveryThreadOfAParallelRegionOfTheCaller) {
  const auto all = problems();
  const Handle handle;
  int failures = 0;
#pragma omp parallel for num_threads(3) reduction(+ : failures) schedule(dynamic)
  for (int i = 0; i < kThreads; ++i) {
    if (!all[static_cast<size_t>(i)].solved_by(handle)) ++failures;
  }
  EXPECT_EQ(failures, 0);
}

// The runtime may choose a team smaller than OMP_NUM_THREADS. The result has the same bits.
TEST(TeamConcurrency, WithDynamicTeams) {
  const SolvedCase problem = pooling(9000);
  const Handle handle;
  const ScopedThreads threads(64);
  const int before = omp_get_dynamic();
  omp_set_dynamic(1);
  EXPECT_TRUE(problem.solved_by(handle));
  omp_set_dynamic(before);
}

// 64 GiB of NRAM: the call succeeds if the system overcommits memory, and fails without changes otherwise.
TEST(TeamConcurrency, NramExceedsTheMachine) {
  if (kSanitizer) GTEST_SKIP() << "sanitizers allocate shadow memory";
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1048576");
  const ScopedThreads threads(64);
  const SolvedCase problem = pooling(60000, Values::kIntegers);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    const OperatorCall call(handle, problem.made);
    const std::vector<std::byte> before = call.contents();
    const mluOpStatus_t status = call.run();
    if (status == MLUOP_STATUS_SUCCESS) {
      EXPECT_TRUE(call.outputs() == problem.outputs);
    } else {
      EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << mluOpOmpGetLastError();
      EXPECT_TRUE(call.contents() == before);
    }
    EXPECT_TRUE(call.intact());
  }
}

}  // namespace
}  // namespace mluop::test
