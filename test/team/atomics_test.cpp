// Atomic updates under contention: the tasks outnumber the cores.
#include "team/atomics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support/team_context.h"
#include "team/launch.h"
#include "team/row_guard.h"

namespace mluop::test {
namespace {

constexpr int kTasks = 16;
constexpr int64_t kUpdates = int64_t{kTasks} * 20000;

// The memory that the tasks update.
struct Shared {
  int64_t counter = 0;
  std::vector<char> numbers = std::vector<char>(kUpdates);  // how often each number was returned
  std::array<uint64_t, 100> words{};                        // neighbouring work items set bits of the same words
  std::vector<int64_t> places = std::vector<int64_t>(1000, -1);  // -1: free
  std::vector<char> winners = std::vector<char>(kUpdates);       // whether a work item claimed its place
  int32_t falling = INT32_MAX;                                   // each work item of a task lowers it
  int32_t rising = INT32_MAX;  // the first work item of each task has its minimum
};

void claim_numbers(Shared* const& shared, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) ++shared->numbers[static_cast<size_t>(atomic_next(&shared->counter))];
}

void set_bits(Shared* const& shared, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i)
    atomic_or(&shared->words[static_cast<size_t>(i / kTasks % 100)], uint64_t{1} << i % 64);
}

void claim_places(Shared* const& shared, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    shared->winners[static_cast<size_t>(i)] =
        atomic_claim(&shared->places[static_cast<size_t>(i % 1000)], -1, i) == -1 ? 1 : 0;
  }
}

void lower(Shared* const& shared, int64_t begin, int64_t end, Task& task) {
  for (int64_t i = begin; i < end; ++i) {
    const auto step = static_cast<int32_t>(i - begin);
    atomic_min(&shared->falling, -step * task.taskDim - task.taskId);
    atomic_min(&shared->rising, step * task.taskDim + task.taskId - 5);
  }
}

TEST(TeamAtomics, UpdatesOfAllTasks) {
  TeamContext context(kTasks);
  for (int round = 0; round < 5; ++round) {
    Shared shared;
    for (const RangeKernel<Shared*> kernel : {claim_numbers, set_bits, claim_places, lower}) {
      launch(context, "update", kTasks, Evenly{kUpdates}, kernel, &shared);
    }
    EXPECT_EQ(shared.counter, kUpdates);
    EXPECT_EQ(shared.numbers, std::vector<char>(shared.numbers.size(), 1));
    std::array<uint64_t, 100> words{};
    for (int64_t i = 0; i < kUpdates; ++i) words[static_cast<size_t>(i / kTasks % 100)] |= uint64_t{1} << i % 64;
    EXPECT_EQ(shared.words, words);
    std::vector<char> winners(shared.winners.size());
    for (size_t place = 0; place < shared.places.size(); ++place) {
      const auto winner = static_cast<size_t>(shared.places[place]);
      ASSERT_EQ(winner % 1000, place);
      winners[winner] = 1;
    }
    EXPECT_EQ(shared.winners, winners);
    EXPECT_EQ(shared.falling, -static_cast<int32_t>(kUpdates - 1));
    EXPECT_EQ(shared.rising, -5);
  }
}

TEST(TeamAtomics, MinAtTheLimitsOfInt32) {
  int32_t minimum = INT32_MAX;
  for (const auto& [value, expected] :
       {std::pair{INT32_MAX, INT32_MAX}, {-1, -1}, {0, -1}, {INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MIN}}) {
    atomic_min(&minimum, value);
    EXPECT_EQ(minimum, expected);
  }
}

constexpr int64_t kRows = 5, kRowElements = 19;

// Work items: additions of one to a row; consecutive items update different rows.
void add_to_rows(float* const& sums, int64_t begin, int64_t end, Task& task) {
  for (int64_t i = begin; i < end; ++i) {
    float* const row = sums + i % kRows * kRowElements;
    const RowGuard guard(task, row, kRowElements);
    for (int64_t c = 0; c < kRowElements; ++c) row[c] += 1.0F;
  }
}

// A task that waits for a row yields to the owner of its lock.
TEST(TeamAtomics, RowGuardLosesNoUpdate) {
  TeamContext context(kTasks);
  context.statistics.enable(true);
  std::vector<float> sums(kRows * kRowElements);
  launch(context, "add_to_rows", kTasks, Evenly{kUpdates}, add_to_rows, sums.data());
  EXPECT_THAT(sums, ::testing::Each(static_cast<float>(kUpdates / kRows)));
  for (const TaskStatistics& task : context.statistics.launches().at(0).tasks) {
    EXPECT_EQ(task.atomics, kUpdates / kTasks);
    EXPECT_EQ(task.atomic_elements, kUpdates / kTasks * kRowElements);
    EXPECT_GE(task.contended, 0);
    EXPECT_LE(task.contended, task.atomics);
  }
}

// A thread that updates a locked row waits, and counts it.
TEST(TeamAtomics, RowGuardCountsContention) {
  float row[4] = {};
  TaskStatistics statistics{};
  Task task{0, 1, Arena(), &statistics, nullptr};
  { const RowGuard guard(task, row, 4); }
  EXPECT_EQ(statistics.contended, 0);
  std::atomic<bool> held{false};
  std::thread owner([&] {
    const SpinGuard guard(RowLocks::lock_of(row));
    held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  while (!held) std::this_thread::yield();
  { const RowGuard guard(task, row, 4); }
  owner.join();
  EXPECT_EQ(statistics.atomics, 2);
  EXPECT_EQ(statistics.atomic_elements, 8);
  EXPECT_EQ(statistics.contended, 1);
}

// Each lock has a separate cache line; a row always has the same lock.
TEST(TeamAtomics, RowLocks) {
  constexpr int64_t kRowBytes = 320, kRowCount = 16384;
  std::set<const int32_t*> locks;
  std::vector<std::byte> rows(kRowBytes * kRowCount);
  for (int64_t i = 0; i < kRowCount; ++i) {
    const void* row = rows.data() + i * kRowBytes;
    const int32_t* lock = RowLocks::lock_of(row);
    EXPECT_EQ(lock, RowLocks::lock_of(row));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(lock) % kCacheLine, 0U);
    locks.insert(lock);
  }
  // Rows spread over most of the 4096 locks.
  EXPECT_GT(locks.size(), 3000U);
}

}  // namespace
}  // namespace mluop::test
