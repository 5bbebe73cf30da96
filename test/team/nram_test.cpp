// Scratch memory: aligned, within its capacity, and never shared by two tasks that run at once.
#include "team/nram.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "support/environment.h"
#include "team/launch.h"

namespace mluop::test {
namespace {

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % kScratchAlignment == 0; }

TEST(TeamNram, BuffersAreWholeCacheLines) {
  EXPECT_EQ(nram_bytes<char>(0), 0U);
  EXPECT_EQ(nram_bytes<char>(1), 64U);
  EXPECT_EQ(nram_bytes<char>(64), 64U);
  EXPECT_EQ(nram_bytes<char>(65), 128U);
  EXPECT_EQ(nram_bytes<int32_t>(16), 64U);
  EXPECT_EQ(nram_bytes<int32_t>(17), 128U);
  EXPECT_EQ(nram_bytes<double>(8), 64U);
}

TEST(TeamNram, SuccessiveBuffersAreDisjointAndAligned) {
  AlignedBuffer memory;
  memory.reserve(4096);
  Nram nram(memory.data(), 4096);
  EXPECT_EQ(nram.capacity(), 4096U);
  const std::byte* end = memory.data();
  for (const size_t count : {1, 15, 16, 17, 63, 64, 65, 0, 7}) {
    const auto* buffer = nram.take<int32_t>(count);
    EXPECT_TRUE(aligned(buffer));
    EXPECT_GE(reinterpret_cast<const std::byte*>(buffer), end);
    end = reinterpret_cast<const std::byte*>(buffer + count);
  }
  EXPECT_LE(end, memory.data() + 4096);
}

// The plan's arithmetic is the arena's: what fills the capacity exactly can be taken.
TEST(TeamNram, TakesItsWholeCapacity) {
  AlignedBuffer memory;
  memory.reserve(1024);
  Nram nram(memory.data(), 1024);
  nram.take<char>(1);
  const auto* rest = nram.take<char>(1024 - 64);
  EXPECT_EQ(reinterpret_cast<const std::byte*>(rest + (1024 - 64)), memory.data() + 1024);
}

// What a task found: its thread, the buffers that it took, and whether they stayed its own.
struct Taken {
  int thread;
  bool kept;
  const std::byte* buffers[3];
  size_t sizes[3];
};

struct TakeArgs {
  std::vector<Taken>* taken;
  size_t capacity;
};

// Takes all there is, in three buffers, and holds it while others run: what it wrote must still be there.
void take_all(const TakeArgs& args, int64_t begin, int64_t, Task& task) {
  Taken& taken = (*args.taken)[static_cast<size_t>(begin)];
  taken.thread = omp_get_thread_num();
  const size_t third = args.capacity / 3 / kScratchAlignment * kScratchAlignment;
  const size_t sizes[3] = {1, third, args.capacity - third - kScratchAlignment};
  for (size_t i = 0; i < 3; ++i) {
    auto* buffer = task.nram.take<std::byte>(sizes[i]);
    std::fill_n(buffer, sizes[i], static_cast<std::byte>(task.taskId));
    taken.buffers[i] = buffer;
    taken.sizes[i] = sizes[i];
  }
  std::this_thread::yield();
  taken.kept = true;
  for (size_t i = 0; i < 3; ++i) {
    const auto same = [&](std::byte b) { return b == static_cast<std::byte>(task.taskId); };
    if (!std::all_of(taken.buffers[i], taken.buffers[i] + sizes[i], same)) taken.kept = false;
  }
}

TEST(TeamNram, BuffersOfDifferentThreadsAreDisjoint) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "3");
  Context context;
  context.configure();
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    std::vector<Taken> taken(static_cast<size_t>(task_dim));
    launch(context, task_dim, Evenly{task_dim}, take_all, TakeArgs{&taken, context.nram_capacity});
    std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
    std::vector<bool> seen(static_cast<size_t>(task_dim));
    for (const Taken& task : taken) {
      EXPECT_TRUE(task.kept);
      for (const auto* buffer : task.buffers) EXPECT_TRUE(aligned(buffer));
      // A thread hands the same memory to its tasks, one after another: it counts once.
      if (seen[static_cast<size_t>(task.thread)]) continue;
      seen[static_cast<size_t>(task.thread)] = true;
      for (size_t i = 0; i < 3; ++i) ranges.emplace_back(task.buffers[i], task.buffers[i] + task.sizes[i]);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
    EXPECT_LE(ranges.back().second - ranges.front().first,
              static_cast<ptrdiff_t>(context.nram_capacity * static_cast<size_t>(task_dim)));
  }
}

// An arena starts empty in each task, also where one thread runs several.
TEST(TeamNram, StartsEmptyInEveryTask) {
  Context context;
  context.configure();
  const ScopedThreads threads(1);
  std::vector<Taken> taken(9);
  launch(context, 9, Evenly{9}, take_all, TakeArgs{&taken, context.nram_capacity});
  for (const Taken& task : taken) {
    for (const Taken& other : taken) {
      if (task.thread != other.thread) continue;
      EXPECT_EQ(task.buffers[0], other.buffers[0]);
    }
  }
}

}  // namespace
}  // namespace mluop::test
