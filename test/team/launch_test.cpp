// Launches visit each work item once, in the task that the split names, with any number of threads that OpenMP
// provides.
#include "team/launch.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/environment.h"

namespace mluop::test {
namespace {

// What the tasks of a launch did.
struct Trace {
  Trace(int64_t items, int tasks) : visits(static_cast<size_t>(items)), ranges(static_cast<size_t>(tasks)) {}

  mutable std::vector<std::atomic<int>> visits;  // [items]
  mutable std::vector<Range> ranges;             // [tasks]
  mutable std::atomic<int> runs{0};
  mutable std::atomic<bool> ids_valid{true};
};

void record(const Trace& trace, int64_t begin, int64_t end, Task& task) {
  ++trace.runs;
  if (task.taskId < 0 || task.taskId >= task.taskDim || task.taskDim != static_cast<int>(trace.ranges.size())) {
    trace.ids_valid = false;
    return;
  }
  trace.ranges[static_cast<size_t>(task.taskId)] = {begin, end};
  for (int64_t item = begin; item < end; ++item) ++trace.visits[static_cast<size_t>(item)];
}

// Reserves the NRAM of up to `count` threads.
void reserve_threads(Context& context, int count) {
  const ScopedThreads threads(count);
  context.reserve(0);
}

void expect_complete(Context& context, int64_t items, int task_dim) {
  SCOPED_TRACE(std::to_string(items) + " work items, " + std::to_string(task_dim) + " tasks");
  const Trace trace(items, task_dim);
  launch(context, "test", task_dim, Evenly{items}, record, trace);
  for (int64_t item = 0; item < items; ++item) EXPECT_EQ(trace.visits[static_cast<size_t>(item)], 1) << item;
  EXPECT_TRUE(trace.ids_valid);
  // Tasks with an empty range do not run.
  EXPECT_EQ(trace.runs, std::min<int64_t>(items, task_dim));
  for (int id = 0; id < std::min<int64_t>(items, task_dim); ++id) {
    const Range expected = split(items, task_dim, id);
    EXPECT_EQ(trace.ranges[static_cast<size_t>(id)].begin, expected.begin);
    EXPECT_EQ(trace.ranges[static_cast<size_t>(id)].end, expected.end);
  }
  EXPECT_EQ(context.last_launch.task_dim, task_dim);
  EXPECT_GE(context.last_launch.threads, 1);
  EXPECT_LE(context.last_launch.threads, task_dim);
}

void expect_complete(Context& context) {
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    // None, one, fewer than tasks, as many, one more, many.
    for (const int64_t items : {0, 1, task_dim - 1, task_dim, task_dim + 1, 1000}) {
      expect_complete(context, items, task_dim);
    }
  }
}

class TeamLaunch : public ::testing::Test {
 protected:
  TeamLaunch() {
    context.configure();
    context.max_threads = 64;
    context.nram_capacity = 1024;
    reserve_threads(context, 64);
  }

  Context context;
};

TEST_F(TeamLaunch, EachItemOnce) { expect_complete(context); }

TEST_F(TeamLaunch, OfManyThreads) {
  const ScopedThreads threads(64);
  expect_complete(context);
}

TEST_F(TeamLaunch, OfOneThread) {
  const ScopedThreads threads(1);
  expect_complete(context);
}

TEST_F(TeamLaunch, WithDynamicTeams) {
  const int before = omp_get_dynamic();
  omp_set_dynamic(1);
  expect_complete(context);
  omp_set_dynamic(before);
}

// With one active level, OpenMP gives a launch inside a region one thread.
TEST_F(TeamLaunch, InsideAParallelRegion) {
  const int before = omp_get_max_active_levels();
  omp_set_max_active_levels(1);
  int threads = 0;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    expect_complete(context);
    threads = context.last_launch.threads;
  }
  omp_set_max_active_levels(before);
  // Where OMP_THREAD_LIMIT leaves the outer region one thread, the inner one may have more.
  if (omp_get_thread_limit() > 1) {
    EXPECT_EQ(threads, 1);
  }
}

// With two active levels, each of the caller's threads gets a team of its own.
TEST_F(TeamLaunch, InsideAParallelRegionWithNesting) {
  const int before = omp_get_max_active_levels();
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    Context own;
    own.configure();
    own.nram_capacity = 1024;
    reserve_threads(own, 64);
    expect_complete(own);
  }
  omp_set_max_active_levels(before);
}

// Where OpenMP permits, a team has as many threads as tasks; otherwise the tests above would prove little.
TEST_F(TeamLaunch, RunsOnAsManyThreadsAsTasks) {
  if (omp_get_thread_limit() < 7) GTEST_SKIP() << "OMP_THREAD_LIMIT is " << omp_get_thread_limit();
  expect_complete(context, 1000, 7);
  EXPECT_EQ(context.last_launch.threads, 7);
}

// More tasks than the context has threads for.
TEST_F(TeamLaunch, OnFewerThreadsThanTasks) {
  context.max_threads = 3;
  expect_complete(context);
  EXPECT_LE(context.last_launch.threads, 3);
}

// A division with empty ranges between others.
TEST_F(TeamLaunch, WithEmptyRanges) {
  const auto odd_tasks_only = [](int, int id) { return id % 2 == 1 ? Range{id * 10, id * 10 + 10} : Range{0, 0}; };
  const Trace trace(70, 7);
  launch(context, "test", 7, odd_tasks_only, record, trace);
  EXPECT_EQ(trace.runs, 3);
  for (size_t item = 0; item < 70; ++item) EXPECT_EQ(trace.visits[item], item / 10 % 2 == 1 ? 1 : 0) << item;
}

struct DynamicTrace {
  explicit DynamicTrace(int64_t items) : visits(static_cast<size_t>(items)) {}

  mutable std::vector<std::atomic<int>> visits;  // [items]
  mutable std::atomic<int> runs{0};
  mutable std::atomic<bool> nram_empty{true};
};

void record_chunk(const DynamicTrace& trace, int64_t begin, int64_t end, Task& task) {
  ++trace.runs;
  for (int64_t item = begin; item < end; ++item) ++trace.visits[static_cast<size_t>(item)];
  if (task.nram.used() > 0) trace.nram_empty = false;
  task.nram.take<char>("all", {static_cast<int64_t>(task.nram.capacity())});
}

// Each chunk starts with an empty NRAM; chunks with an empty range do not run.
TEST_F(TeamLaunch, DynamicVisitsEachItemOnce) {
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    for (const int64_t items : {0, 1, 63, 1000}) {
      for (const int chunk_count : {1, 2, 10, 300}) {
        SCOPED_TRACE(std::to_string(items) + " work items, " + std::to_string(chunk_count) + " chunks, " +
                     std::to_string(task_dim) + " tasks");
        const DynamicTrace trace(items);
        launch_dynamic(context, "test", task_dim, chunk_count, Evenly{items}, record_chunk, trace);
        EXPECT_TRUE(std::all_of(trace.visits.begin(), trace.visits.end(), [](int count) { return count == 1; }));
        EXPECT_EQ(trace.runs, std::min<int64_t>(items, chunk_count));
        EXPECT_TRUE(trace.nram_empty);
      }
    }
  }
}

// Throws in the tasks from `first` on.
void throw_from(const int& first, int64_t begin, int64_t, Task&) {
  if (begin >= first) throw std::runtime_error("thrown by a task");
}

TEST_F(TeamLaunch, RethrowsWhatATaskThrows) {
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    for (const int first : {0, task_dim - 1}) {
      try {
        launch(context, "test", task_dim, Evenly{task_dim}, throw_from, first);
        ADD_FAILURE() << "does not throw";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "thrown by a task");
      }
    }
    EXPECT_NO_THROW(launch(context, "test", task_dim, Evenly{task_dim}, throw_from, task_dim));
    expect_complete(context, 1000, task_dim);
  }
}

TEST(TeamChooseTaskDim, BoundsOfItemsBytesAndThreads) {
  constexpr int64_t kMany = int64_t{1} << 40;
  for (const int count : {1, 2, 3, 7, 64}) {
    const ScopedThreads threads(count);
    EXPECT_EQ(choose_task_dim(kMany, kMany), count);
    for (const int64_t items : {1, 2, 5, 63}) {
      EXPECT_EQ(choose_task_dim(items, kMany), std::min<int64_t>(items, count));
    }
    // At least one task, also for nothing; few bytes do not pay for a second one.
    EXPECT_EQ(choose_task_dim(0, 0), 1);
    EXPECT_EQ(choose_task_dim(0, kMany), 1);
    EXPECT_EQ(choose_task_dim(kMany, 0), 1);
    EXPECT_EQ(choose_task_dim(1000, 1000), 1);
    int before = 1;
    for (int64_t bytes = 1; bytes < kMany; bytes *= 2) {
      const int task_dim = choose_task_dim(kMany, bytes);
      EXPECT_GE(task_dim, before);
      before = task_dim;
    }
    EXPECT_EQ(before, count);
  }
}

}  // namespace
}  // namespace mluop::test
