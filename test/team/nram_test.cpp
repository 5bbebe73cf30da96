// NRAM: reserved before a launch, and never shared by two tasks that run at the same time.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "core/boundary.h"
#include "support/environment.h"
#include "team/launch.h"

namespace mluop::test {
namespace {

// What a task found: its thread, the buffers that it took, and whether other tasks left them unchanged.
struct TakenNram {
  int thread;
  bool unchanged;
  const std::byte* buffers[3];
  size_t sizes[3];
};

struct TakeArgs {
  std::vector<TakenNram>& taken;
  size_t capacity;
};

// Takes all NRAM, in three buffers, writes it, and checks its contents after other tasks had time to run.
void take_all(const TakeArgs& args, int64_t begin, int64_t, Task& task) {
  TakenNram& taken = args.taken[static_cast<size_t>(begin)];
  taken.thread = omp_get_thread_num();
  const size_t third = args.capacity / 3 / kScratchAlignment * kScratchAlignment;
  const size_t sizes[3] = {1, third, args.capacity - third - kScratchAlignment};
  for (size_t i = 0; i < 3; ++i) {
    auto* buffer = task.nram.take<std::byte>("buffer", {static_cast<int64_t>(sizes[i])});
    std::fill_n(buffer, sizes[i], static_cast<std::byte>(task.taskId));
    taken.buffers[i] = buffer;
    taken.sizes[i] = sizes[i];
  }
  std::this_thread::yield();
  taken.unchanged = true;
  for (size_t i = 0; i < 3; ++i) {
    const auto own = [&](std::byte b) { return b == static_cast<std::byte>(task.taskId); };
    if (!std::all_of(taken.buffers[i], taken.buffers[i] + sizes[i], own)) taken.unchanged = false;
  }
}

TEST(TeamNram, BuffersOfDifferentThreadsAreDisjoint) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "3");
  Context context;
  context.configure();
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    const ScopedThreads threads(task_dim);
    std::vector<TakenNram> taken(static_cast<size_t>(task_dim));
    context.reserve(0);
    launch(context, "test", task_dim, Evenly{task_dim}, take_all, {taken, context.nram_capacity});
    std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
    std::vector<bool> seen(static_cast<size_t>(task_dim));
    for (const TakenNram& task : taken) {
      EXPECT_TRUE(task.unchanged);
      for (const auto* buffer : task.buffers) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % kScratchAlignment, 0U);
      }
      // The tasks of one thread, which run in turn, have the same memory.
      if (seen[static_cast<size_t>(task.thread)]) continue;
      seen[static_cast<size_t>(task.thread)] = true;
      for (size_t i = 0; i < 3; ++i) ranges.emplace_back(task.buffers[i], task.buffers[i] + task.sizes[i]);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
    EXPECT_LE(ranges.back().second - ranges.front().first,
              static_cast<ptrdiff_t>((context.nram_capacity + kArenaGapBytes) * static_cast<size_t>(task_dim)));
  }
}

// The arena is empty when a task starts, also where one thread runs several tasks.
TEST(TeamNram, StartsEmptyInEveryTask) {
  Context context;
  context.configure();
  const ScopedThreads threads(1);
  context.max_threads = 1;
  std::vector<TakenNram> taken(9);
  context.reserve(0);
  launch(context, "test", 9, Evenly{9}, take_all, {taken, context.nram_capacity});
  for (const TakenNram& task : taken) {
    EXPECT_EQ(task.thread, 0);
    EXPECT_EQ(task.buffers[0], taken[0].buffers[0]);
  }
}

TEST(TeamNram, MustBeReservedBeforeALaunch) {
  Context context;
  context.configure();
  for (const int task_dim : {1, 2, 7}) {
    const ScopedThreads threads(task_dim);
    std::vector<TakenNram> taken(static_cast<size_t>(task_dim));
    try {
      launch(context, "test", task_dim, Evenly{task_dim}, take_all, {taken, context.nram_capacity});
      ADD_FAILURE() << "does not throw";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, MLUOP_STATUS_INTERNAL_ERROR);
    }
  }
}

// The pool keeps its memory, and is as large as asked for.
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

}  // namespace
}  // namespace mluop::test
