// The library across fork() and at the exit of the process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "ops/voxel_pooling_forward/call.h"
#include "support/child_process.h"
#include "support/compare.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

bool solves(mluOpHandle_t handle, const VoxelPoolingInputs& inputs, const VoxelPoolingOutputs& expected) {
  const VoxelPoolingCall call(handle, inputs);
  return call.run() == MLUOP_STATUS_SUCCESS &&
         same_bits(call.outputs().output_features, expected.output_features) &&
         call.outputs().pos_memo == expected.pos_memo;
}

// OpenMP runtimes keep threads between teams, and a child process has none of them.
TEST(ApiProcess, ForkAfterUse) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const auto inputs = random_voxel_pooling({2, 5000, 6, 5, 4, 1}, random);
  const auto expected = voxel_pooling_reference(inputs);
  const Handle inherited;
  ASSERT_TRUE(solves(inherited, inputs, expected));
  EXPECT_EQ(exit_status_of_child([&] { return solves(inherited, inputs, expected); }), 0);
  EXPECT_EQ(exit_status_of_child([&] { return solves(Handle(), inputs, expected); }), 0);
  // A child of the child, and the parent afterwards.
  EXPECT_EQ(exit_status_of_child(
                [&] { return exit_status_of_child([&] { return solves(inherited, inputs, expected); }) == 0; }),
            0);
  EXPECT_TRUE(solves(inherited, inputs, expected));
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

}  // namespace
}  // namespace mluop::test
