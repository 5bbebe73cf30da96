// NRAM: reserved before a launch, and never shared by two tasks that run at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/boundary.h"
#include "support/environment.h"
#include "support/sanitizers.h"
#include "support/solved_case.h"
#include "support/trace.h"
#include "support/values.h"
#include "team/launch.h"

namespace mluop::test {
namespace {

// Each task takes all its NRAM.
void take_all(std::vector<const std::byte*>* const& taken, int64_t begin, int64_t, Task& task) {
  (*taken)[static_cast<size_t>(begin)] =
      task.nram.take<std::byte>("all", {static_cast<int64_t>(task.nram.capacity())});
}

// The tasks of one thread run in turn and use the same memory.
TEST(TeamNram, EachThreadHasItsOwn) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "3");
  Context context;
  context.configure();
  for (const int max_threads : {1, 2, 64}) {
    context.max_threads = max_threads;
    for (const int task_dim : {1, 2, 3, 9, 64}) {
      const ScopedThreads threads(task_dim);
      std::vector<const std::byte*> taken(static_cast<size_t>(task_dim));
      context.reserve(0);
      launch(context, "test", task_dim, Evenly{task_dim}, take_all, &taken);
      const std::set<const std::byte*> buffers(taken.begin(), taken.end());
      const auto thread_count = static_cast<size_t>(context.last_launch.threads);
      EXPECT_EQ(buffers.size(), thread_count);
      const std::byte* end = *buffers.begin();
      for (const std::byte* buffer : buffers) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % kScratchAlignment, 0U);
        EXPECT_GE(buffer, end);
        end = buffer + context.nram_capacity;
      }
      EXPECT_LE(static_cast<size_t>(end - *buffers.begin()),
                (context.nram_capacity + kArenaGapBytes) * thread_count);
    }
  }
}

TEST(TeamNram, MustBeReservedBeforeALaunch) {
  Context context;
  context.configure();
  for (const int task_dim : {1, 2, 7}) {
    const ScopedThreads threads(task_dim);
    std::vector<const std::byte*> taken(static_cast<size_t>(task_dim));
    EXPECT_THAT([&] { launch(context, "test", task_dim, Evenly{task_dim}, take_all, &taken); },
                ::testing::Throws<Failure>(::testing::Field(&Failure::status, MLUOP_STATUS_INTERNAL_ERROR)));
  }
}

// The pool keeps its memory, and has the requested size.
TEST(TeamNram, PoolIsReused) {
  Context context;
  context.configure();
  EXPECT_EQ(context.reserve(0).capacity(), 0U);
  Arena large = context.reserve(1 << 20);
  EXPECT_EQ(large.capacity(), size_t{1} << 20);
  const auto* memory = large.take<char>("first", {1});
  Arena small = context.reserve(100);
  EXPECT_EQ(small.capacity(), 100U);
  EXPECT_EQ(small.take<char>("first", {1}), memory);
}

// 64 GiB of NRAM: the call succeeds if the system overcommits memory; otherwise it fails and changes no tensor.
TEST(TeamNram, ExceedsTheMachine) {
  if (kSanitizer) GTEST_SKIP() << "sanitizers allocate shadow memory";
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1048576");
  const ScopedThreads threads(64);
  const cases::Case made = make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                                     {{"num_points", 60000}, {"num_channels", 24}, {"num_voxel_x", 9}});
  const SolvedCase problem = solve(with_values(made, Values::kIntegers, 1));
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
