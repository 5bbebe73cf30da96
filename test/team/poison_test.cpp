// Under AddressSanitizer, accesses to scratch memory outside the buffers of the current task or call are reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/poisoned.h"
#include "support/team_context.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::test {
namespace {

class TeamPoison : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kPoisons) GTEST_SKIP() << "built without AddressSanitizer";
  }
};

struct Seen {
  int32_t* tile;
  bool others_poisoned;
};

// Takes all NRAM, and checks that the tiles of other tasks cannot be accessed.
void take_tile(std::vector<Seen>* const& tasks, int64_t begin, int64_t, Task& task) {
  const auto count = static_cast<int64_t>(task.nram.capacity() / sizeof(int32_t));
  const auto own = tasks->begin() + begin;
  own->others_poisoned =
      std::all_of(tasks->begin(), own, [](const Seen& other) { return is_poisoned(other.tile); });
  own->tile = task.nram.take<int32_t>("tile", {count});
  own->others_poisoned &= accessible(own->tile, static_cast<size_t>(count)) && is_poisoned(own->tile + count);
}

void expect_stale_tiles(const std::vector<Seen>& seen) {
  for (const Seen& task : seen) {
    EXPECT_TRUE(task.others_poisoned);
    EXPECT_TRUE(is_poisoned(task.tile)) << "after its task";
  }
}

// A thread runs several tasks or chunks: each finds the buffers of the previous tasks poisoned.
TEST_F(TeamPoison, NramOfEarlierTasks) {
  TeamContext context(1);
  std::vector<Seen> tasks(5);
  launch(context, "test", 5, Evenly{5}, take_tile, &tasks);
  expect_stale_tiles(tasks);
  std::vector<Seen> chunks(5);
  launch_dynamic(
      context, "test", 1, 5, [](int count, int chunk) { return split(5, count, chunk); }, take_tile, &chunks);
  expect_stale_tiles(chunks);
}

// The NRAM of each thread ends before the NRAM of the next thread.
TEST_F(TeamPoison, NramOfOtherThreads) {
  TeamContext context(3);
  std::vector<Arena> arenas;
  for (int thread = 0; thread < 3; ++thread) arenas.push_back(context.nram(thread));
  for (Arena& arena : arenas) {
    const size_t capacity = arena.capacity();
    const auto* const all = arena.take<char>("all", {static_cast<int64_t>(capacity)});
    EXPECT_TRUE(accessible(all, capacity));
    EXPECT_EQ(poisoned_bytes(all + capacity, 64), 64U);
  }
}

TEST_F(TeamPoison, PoolAfterTheCall) {
  TeamContext context(1);
  const char* buffer = nullptr;
  const auto body = [&](Call& call) {
    Arena pool = call.context().reserve(1000);
    buffer = pool.take<char>("buffer", {900});
    EXPECT_TRUE(accessible(buffer, 900));
    EXPECT_GE(poisoned_bytes(buffer + 900, 100), 100U);
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run_operator("example", &context, body), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(poisoned_bytes(buffer, 900), 900U);
  }
}

// The workspace is accessible after a successful and after a failing call, at any address.
TEST_F(TeamPoison, WorkspaceIsTheCallersAfterTheCall) {
  Context context;
  for (const size_t offset : {0, 1, 31, 63}) {
    for (const bool fails : {false, true}) {
      std::vector<char> memory(500);
      const size_t bytes = memory.size() - offset;
      const char* buffer = nullptr;
      const auto status = run_operator("example", &context, [&](Call& call) {
        Arena arena = call.workspace(memory.data() + offset, bytes, bytes);
        buffer = arena.take<char>("buffer", {100});
        EXPECT_TRUE(accessible(buffer, 100));
        EXPECT_EQ(poisoned_bytes(buffer + 100, 200), 200U);
        mluop::require(!fails, MLUOP_STATUS_EXECUTION_FAILED, "fails");
      });
      EXPECT_EQ(status, fails ? MLUOP_STATUS_EXECUTION_FAILED : MLUOP_STATUS_SUCCESS);
      EXPECT_TRUE(accessible(memory.data(), memory.size()));
    }
  }
}

}  // namespace
}  // namespace mluop::test
