// The library across fork() and at the exit of the process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "ops/voxel_pooling_forward/call.h"
#include "support/child_process.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/temporary_folder.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

bool solves(mluOpHandle_t handle, const VoxelPoolingInputs<float>& inputs,
            const VoxelPoolingOutputs<float>& expected) {
  const VoxelPoolingCall call(handle, inputs);
  return call.run() == MLUOP_STATUS_SUCCESS &&
         same_bits(call.outputs().output_features, expected.output_features) &&
         call.outputs().pos_memo == expected.pos_memo;
}

// Integers: their sums are exact in any order.
VoxelPoolingInputs<float> integer_inputs() {
  auto random = seeded_random();
  auto inputs = random_voxel_pooling<float>({2, 5000, 6, 5, 4, 1}, random);
  for (float& feature : inputs.input_features) feature = std::round(feature * 8);
  return inputs;
}

// OpenMP runtimes keep threads between teams, and a child process has none of them.
void expect_calls_after_fork(mluOpOmpAlgorithm_t algorithm) {
  const ScopedThreads threads(3);
  const auto inputs = integer_inputs();
  const auto expected = voxel_pooling_reference(inputs);
  const Handle inherited(algorithm);
  ASSERT_TRUE(solves(inherited, inputs, expected));
  EXPECT_EQ(exit_status_of_child([&] { return solves(inherited, inputs, expected); }), 0);
  EXPECT_EQ(exit_status_of_child([&] { return solves(Handle(algorithm), inputs, expected); }), 0);
  // A child of the child, and the parent afterwards.
  EXPECT_EQ(exit_status_of_child(
                [&] { return exit_status_of_child([&] { return solves(inherited, inputs, expected); }) == 0; }),
            0);
  EXPECT_TRUE(solves(inherited, inputs, expected));
}

TEST(ApiProcess, ForkAfterUse) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    expect_calls_after_fork(algorithm);
  }
}

size_t events_of(const std::string& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(std::string(std::istreambuf_iterator<char>(in), {})).size();
}

// Each process writes a trace of its own.
TEST(ApiProcess, ForkWithATrace) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& pid) { return (folder.path() / ("trace-" + pid)).string(); };
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", file("%p").c_str());
  const ScopedThreads threads(3);
  const auto inputs = integer_inputs();
  const auto expected = voxel_pooling_reference(inputs);
  const Handle inherited(MLUOP_OMP_ALGORITHM_DEVICE);
  const auto own_file = [&] { return file(std::to_string(getpid())); };
  ASSERT_TRUE(solves(inherited, inputs, expected));
  const size_t events = events_of(own_file());
  // With libomp, the child has the number of threads of its environment: its calls may have other numbers of
  // events.
  EXPECT_EQ(exit_status_of_child([&] {
              if (!solves(inherited, inputs, expected)) return false;
              const size_t events_of_child = events_of(own_file());
              return solves(inherited, inputs, expected) && events_of(own_file()) == 2 * events_of_child;
            }),
            0);
  EXPECT_EQ(events_of(own_file()), events);
  ASSERT_TRUE(solves(inherited, inputs, expected));
  EXPECT_EQ(events_of(own_file()), 2 * events);
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
