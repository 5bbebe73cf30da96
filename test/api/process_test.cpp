// The library across fork() and at the exit of the process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "support/child_process.h"
#include "support/environment.h"
#include "support/solved_case.h"
#include "support/temporary_folder.h"
#include "support/trace.h"
#include "support/trace_file.h"
#include "support/values.h"

namespace mluop::test {
namespace {

// Integers: their sums are exact in any order.
SolvedCase sums_of_integers() {
  const cases::Case made =
      make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT, {{"num_points", 5000}, {"num_channels", 6}});
  return solve(with_values(made, Values::kIntegers, 1));
}

// OpenMP runtimes keep threads between teams, and a child process has none of them.
void expect_calls_after_fork(mluOpOmpAlgorithm_t algorithm) {
  const ScopedThreads threads(3);
  const SolvedCase sums = sums_of_integers();
  const Handle inherited(algorithm);
  ASSERT_TRUE(sums.solved_by(inherited));
  EXPECT_EQ(exit_status_of_child([&] { return sums.solved_by(inherited); }), 0);
  EXPECT_EQ(exit_status_of_child([&] { return sums.solved_by(Handle(algorithm)); }), 0);
  // A child of the child, and the parent afterwards.
  EXPECT_EQ(
      exit_status_of_child([&] { return exit_status_of_child([&] { return sums.solved_by(inherited); }) == 0; }),
      0);
  EXPECT_TRUE(sums.solved_by(inherited));
}

TEST(ApiProcess, ForkAfterUse) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    expect_calls_after_fork(algorithm);
  }
}

// Each process writes a trace of its own.
TEST(ApiProcess, ForkWithATrace) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& pid) { return (folder.path() / ("trace-" + pid)).string(); };
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", file("%p").c_str());
  const ScopedThreads threads(3);
  const SolvedCase sums = sums_of_integers();
  const Handle inherited(MLUOP_OMP_ALGORITHM_DEVICE);
  const auto own_file = [&] { return file(std::to_string(getpid())); };
  ASSERT_TRUE(sums.solved_by(inherited));
  const size_t events = read_trace(own_file()).size();
  // With libomp, the child has the number of threads of its environment: its calls may have other numbers of
  // events.
  EXPECT_EQ(exit_status_of_child([&] {
              if (!sums.solved_by(inherited)) return false;
              const size_t events_of_child = read_trace(own_file()).size();
              return sums.solved_by(inherited) && read_trace(own_file()).size() == 2 * events_of_child;
            }),
            0);
  EXPECT_EQ(read_trace(own_file()).size(), events);
  ASSERT_TRUE(sums.solved_by(inherited));
  EXPECT_EQ(read_trace(own_file()).size(), 2 * events);
}

// A handler that is registered before the first call runs after the destructors of what that call has constructed.
TEST(ApiProcessDeathTest, CallsAtExit) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fail_at_exit = [] {
    setenv("MLUOP_LOG_LEVEL", "error", 1);
    std::atexit([] {
      mluOpDestroy(nullptr);
      if (mluOpOmpGetLastError() != std::string("[mluOpDestroy] handle is null")) _exit(1);
    });
    mluOpSetQueue(nullptr, nullptr);
    std::exit(0);
  };
  EXPECT_EXIT(fail_at_exit(), ::testing::ExitedWithCode(0), "mluOpSetQueue.*\n.*mluOpDestroy. handle is null");
}

// A handle that is created at the exit of the process reads settings as the first one does.
TEST(ApiProcessDeathTest, HandlesAreCreatedAtExit) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto create_at_exit = [] {
    // Longer than a string stores without an allocation.
    setenv("MLUOP_OMP_SIMD", "no instruction set of any machine has this name", 1);
    setenv("MLUOP_LOG_LEVEL", "error", 1);
    std::atexit([] {
      mluOpHandle_t handle = nullptr;
      mluOpSetQueue(nullptr, nullptr);
      if (mluOpCreate(&handle) != MLUOP_STATUS_BAD_PARAM) _exit(1);
    });
    mluOpHandle_t handle = nullptr;
    mluOpCreate(&handle);
    std::exit(0);
  };
  const std::string message = "MLUOP_OMP_SIMD is .no instruction set of any machine has this name., expected";
  EXPECT_EXIT(create_at_exit(), ::testing::ExitedWithCode(0), message + ".*\n.*mluOpSetQueue.*\n.*" + message);
}

// Its destructor runs at the exit of the process, after those of objects that later calls construct.
struct FailsInDestructor {
  ~FailsInDestructor() {
    mluOpDestroy(nullptr);
    if (mluOpOmpGetLastError() != std::string("[mluOpDestroy] handle is null")) _exit(1);
  }
};

TEST(ApiProcessDeathTest, CallsInStaticDestructors) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fail_in_destructor = [] {
    setenv("MLUOP_LOG_LEVEL", "error", 1);
    static const FailsInDestructor object;
    mluOpSetQueue(nullptr, nullptr);
    std::exit(0);
  };
  EXPECT_EXIT(fail_in_destructor(), ::testing::ExitedWithCode(0),
              "mluOpSetQueue.*\n.*mluOpDestroy. handle is null");
}

// Threads whose calls fail until the process has ended.
TEST(ApiProcessDeathTest, CallsOfThreadsDuringExit) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto exit_during_calls = [] {
    setenv("MLUOP_LOG_LEVEL", "error", 1);
    std::atomic<int> calling{0};
    for (int i = 0; i < 4; ++i) {
      std::thread([&] {
        mluOpDestroy(nullptr);
        for (++calling;;) mluOpDestroy(nullptr);
      }).detach();
    }
    while (calling < 4) std::this_thread::yield();
    std::exit(0);
  };
  for (int i = 0; i < 10; ++i) EXPECT_EXIT(exit_during_calls(), ::testing::ExitedWithCode(0), "handle is null");
}

}  // namespace
}  // namespace mluop::test
