// Atomic updates under contention.
#include "team/atomics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <set>
#include <thread>
#include <vector>

#include "support/team_context.h"
#include "team/launch.h"
#include "team/row_guard.h"

namespace mluop::test {
namespace {

constexpr int kTasks = 16;
constexpr int64_t kUpdates = int64_t{kTasks} * 20000;

struct Numbers {
  int64_t* counter;
  std::vector<char>& claims;  // [number]
};

void claim_numbers(const Numbers& numbers, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) ++numbers.claims[static_cast<size_t>(atomic_next(numbers.counter))];
}

TEST(TeamAtomics, NextReturnsEachNumberOnce) {
  TeamContext context(kTasks);
  int64_t counter = 0;
  std::vector<char> claims(static_cast<size_t>(kUpdates));
  launch(context, "claim_numbers", kTasks, Evenly{kUpdates}, claim_numbers, {&counter, claims});
  EXPECT_EQ(counter, kUpdates);
  EXPECT_EQ(claims, std::vector<char>(static_cast<size_t>(kUpdates), 1));
}

void set_bits(uint64_t* const& words, int64_t begin, int64_t end, Task&) {
  // Neighbouring work items of all tasks set bits of the same words.
  for (int64_t i = begin; i < end; ++i) atomic_or(words + i / kTasks % 100, uint64_t{1} << i % 64);
}

TEST(TeamAtomics, OrLosesNoBit) {
  TeamContext context(kTasks);
  std::vector<uint64_t> words(100), expected(100);
  for (int64_t i = 0; i < kUpdates; ++i) expected[static_cast<size_t>(i / kTasks % 100)] |= uint64_t{1} << i % 64;
  launch(context, "set_bits", kTasks, Evenly{kUpdates}, set_bits, words.data());
  EXPECT_EQ(words, expected);
}

struct Places {
  std::vector<int64_t>& places;  // -1: free
  std::vector<char>& winners;    // of each work item: whether it claimed its place
};

void claim_places(const Places& args, int64_t begin, int64_t end, Task&) {
  const auto count = static_cast<int64_t>(args.places.size());
  for (int64_t i = begin; i < end; ++i) {
    const int64_t held = atomic_claim(&args.places[static_cast<size_t>(i % count)], -1, i);
    args.winners[static_cast<size_t>(i)] = held == -1 ? 1 : 0;
  }
}

TEST(TeamAtomics, ClaimHasOneWinner) {
  TeamContext context(kTasks);
  std::vector<int64_t> places(1000, -1);
  std::vector<char> winners(static_cast<size_t>(kUpdates)), expected(winners.size());
  launch(context, "claim_places", kTasks, Evenly{kUpdates}, claim_places, {places, winners});
  for (size_t place = 0; place < places.size(); ++place) {
    ASSERT_EQ(places[place] % 1000, static_cast<int64_t>(place));
    expected[static_cast<size_t>(places[place])] = 1;
  }
  EXPECT_EQ(winners, expected);
}

struct Minima {
  int32_t* falling;  // each work item of a task lowers it
  int32_t* rising;   // the first work item of each task has its minimum
};

void lower(const Minima& minima, int64_t begin, int64_t end, Task& task) {
  for (int64_t i = begin; i < end; ++i) {
    const auto step = static_cast<int32_t>(i - begin);
    atomic_min(minima.falling, -step * task.taskDim - task.taskId);
    atomic_min(minima.rising, step * task.taskDim + task.taskId - 5);
  }
}

TEST(TeamAtomics, MinKeepsTheMinimum) {
  TeamContext context(kTasks);
  for (int round = 0; round < 20; ++round) {
    int32_t falling = INT32_MAX, rising = INT32_MAX;
    launch(context, "lower", kTasks, Evenly{kUpdates / 10}, lower, Minima{&falling, &rising});
    EXPECT_EQ(falling, -(static_cast<int32_t>(kUpdates / 10 / kTasks) - 1) * kTasks - (kTasks - 1));
    EXPECT_EQ(rising, -5);
  }
}

TEST(TeamAtomics, MinAtTheLimitsOfInt32) {
  int32_t value = INT32_MAX;
  atomic_min(&value, INT32_MAX);
  EXPECT_EQ(value, INT32_MAX);
  atomic_min(&value, -1);
  EXPECT_EQ(value, -1);
  atomic_min(&value, 0);
  EXPECT_EQ(value, -1);
  atomic_min(&value, INT32_MIN);
  EXPECT_EQ(value, INT32_MIN);
  atomic_min(&value, INT32_MAX);
  EXPECT_EQ(value, INT32_MIN);
}

struct Guarded {
  int32_t* lock;
  int64_t* sums;  // two, equal while the lock is free
};

void add_under_lock(const Guarded& guarded, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    const SpinGuard guard(guarded.lock);
    const int64_t sum = guarded.sums[0];
    guarded.sums[0] = sum + 1;
    guarded.sums[1] = sum + 1;
  }
}

// More tasks than cores: a waiting task must yield to the owner of the lock.
TEST(TeamAtomics, SpinGuardAdmitsOneAtATime) {
  TeamContext context(kTasks);
  int32_t lock = 0;
  int64_t sums[2] = {};
  launch(context, "add_under_lock", kTasks, Evenly{kUpdates}, add_under_lock, Guarded{&lock, sums});
  EXPECT_EQ(sums[0], kUpdates);
  EXPECT_EQ(sums[1], kUpdates);
}

TEST(TeamAtomics, SpinGuardReportsContention) {
  int32_t lock = 0;
  EXPECT_FALSE(SpinGuard(&lock).contended());
  EXPECT_FALSE(SpinGuard(&lock).contended());
  std::atomic<bool> held{false};
  std::thread owner([&] {
    const SpinGuard guard(&lock);
    held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  while (!held) std::this_thread::yield();
  EXPECT_TRUE(SpinGuard(&lock).contended());
  owner.join();
}

constexpr int64_t kGuardedRows = 5, kRowElements = 19;

// Work items: additions of one to a row; consecutive items update different rows.
void add_to_rows(float* const& sums, int64_t begin, int64_t end, Task& task) {
  for (int64_t i = begin; i < end; ++i) {
    float* const row = sums + i % kGuardedRows * kRowElements;
    const RowGuard guard(task, row, kRowElements);
    for (int64_t c = 0; c < kRowElements; ++c) row[c] += 1.0F;
  }
}

TEST(TeamAtomics, RowGuardLosesNoUpdate) {
  TeamContext context(kTasks);
  context.statistics.enable(true);
  context.statistics.begin_call();
  std::vector<float> sums(kGuardedRows * kRowElements);
  launch(context, "add_to_rows", kTasks, Evenly{kUpdates}, add_to_rows, sums.data());
  EXPECT_EQ(sums, std::vector<float>(kGuardedRows * kRowElements, static_cast<float>(kUpdates / kGuardedRows)));
  for (const TaskStatistics& task : context.statistics.launches().at(0).tasks) {
    EXPECT_EQ(task.atomics, kUpdates / kTasks);
    EXPECT_EQ(task.atomic_elements, kUpdates / kTasks * kRowElements);
    EXPECT_GE(task.contended, 0);
    EXPECT_LE(task.contended, task.atomics);
  }
}

// Threads that update a row that is locked wait, and count it.
TEST(TeamAtomics, RowGuardCountsContention) {
  float row[4] = {};
  TaskStatistics statistics{};
  Task task{0, 1, Arena(), &statistics};
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

// The locks are on cache lines of their own; a row always has the same.
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
