// Launches visit each work item once, in the task that the split assigns, for any number of threads that OpenMP
// provides.
#include "team/launch.h"

#include <gmock/gmock.h>
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

using ::testing::Each;
using ::testing::Eq;

constexpr int kTaskDims[] = {1, 2, 3, 7, 64};

// Records the work of each task of a launch.
struct Visits {
  Visits(int64_t items, int tasks) : counts(static_cast<size_t>(items)), ranges(static_cast<size_t>(tasks)) {}

  mutable std::vector<std::atomic<int>> counts;  // [items]
  mutable std::vector<Range> ranges;             // [tasks], the last of each
  mutable std::atomic<int> runs{0};
  mutable std::atomic<bool> ids_valid{true}, nram_empty{true};
};

void record(const Visits& visits, int64_t begin, int64_t end, Task& task) {
  ++visits.runs;
  if (task.taskId < 0 || task.taskId >= task.taskDim || task.taskDim != static_cast<int>(visits.ranges.size())) {
    visits.ids_valid = false;
    return;
  }
  visits.ranges[static_cast<size_t>(task.taskId)] = {begin, end};
  for (int64_t item = begin; item < end; ++item) ++visits.counts[static_cast<size_t>(item)];
  if (task.nram.used() > 0) visits.nram_empty = false;
  task.nram.take<char>("all", {static_cast<int64_t>(task.nram.capacity())});
}

void expect_complete(Context& context, int64_t items, int task_dim) {
  SCOPED_TRACE(std::to_string(items) + " work items, " + std::to_string(task_dim) + " tasks");
  const Visits visits(items, task_dim);
  launch(context, "test", task_dim, Evenly{items}, record, visits);
  EXPECT_THAT(visits.counts, Each(Eq(1)));
  EXPECT_TRUE(visits.ids_valid);
  EXPECT_TRUE(visits.nram_empty);
  // Tasks with an empty range do not run.
  EXPECT_EQ(visits.runs, std::min<int64_t>(items, task_dim));
  for (int id = 0; id < std::min<int64_t>(items, task_dim); ++id) {
    const Range expected = split(items, task_dim, id);
    EXPECT_EQ(visits.ranges[static_cast<size_t>(id)].begin, expected.begin);
    EXPECT_EQ(visits.ranges[static_cast<size_t>(id)].end, expected.end);
  }
  EXPECT_EQ(context.last_launch.task_dim, task_dim);
  EXPECT_GE(context.last_launch.threads, 1);
  EXPECT_LE(context.last_launch.threads, std::min(task_dim, context.max_threads));
}

void expect_complete(Context& context) {
  for (const int task_dim : kTaskDims) {
    // No work item, one, fewer than tasks, as many as tasks, one more, many.
    for (const int64_t items : {0, 1, task_dim - 1, task_dim, task_dim + 1, 1000}) {
      expect_complete(context, items, task_dim);
    }
  }
}

// A context with NRAM for 64 threads. It has no ScopedThreads, unlike TeamContext: the tests set the number of
// threads.
struct LaunchContext : Context {
  LaunchContext() {
    configure();
    max_threads = 64;
    nram_capacity = 1024;
    const ScopedThreads threads(64);
    reserve(0);
  }
};

class TeamLaunch : public ::testing::Test {
 protected:
  LaunchContext context;
};

TEST_F(TeamLaunch, EachItemOnce) {
  const int before = omp_get_dynamic();
  for (const int dynamic : {0, 1}) {
    omp_set_dynamic(dynamic);
    for (const int count : {1, 2, 64}) {
      const ScopedThreads threads(count);
      expect_complete(context);
    }
  }
  omp_set_dynamic(before);
}

// With one active level, OpenMP gives a launch inside a region one thread; with two levels, a new team.
TEST_F(TeamLaunch, InsideAParallelRegion) {
  const int before = omp_get_max_active_levels();
  for (const int levels : {1, 2}) {
    omp_set_max_active_levels(levels);
#pragma omp parallel num_threads(2)
    {
      LaunchContext own;
      expect_complete(own);
      // If OMP_THREAD_LIMIT leaves the outer region one thread, the inner region may have more.
      if (levels == 1 && omp_get_thread_limit() > 1) {
        EXPECT_EQ(own.last_launch.threads, 1);
      }
    }
  }
  omp_set_max_active_levels(before);
}

// If OpenMP permits it, a team has as many threads as tasks; otherwise the tests above would prove little.
TEST_F(TeamLaunch, RunsOnAsManyThreadsAsTasks) {
  if (omp_get_thread_limit() < 7) GTEST_SKIP() << "OMP_THREAD_LIMIT is " << omp_get_thread_limit();
  expect_complete(context, 1000, 7);
  EXPECT_EQ(context.last_launch.threads, 7);
}

// The context has at most three threads.
TEST_F(TeamLaunch, OnFewerThreadsThanTasks) {
  context.max_threads = 3;
  expect_complete(context);
}

// A division with empty ranges between others.
TEST_F(TeamLaunch, WithEmptyRanges) {
  const auto odd_tasks_only = [](int, int id) { return id % 2 == 1 ? Range{id * 10, id * 10 + 10} : Range{0, 0}; };
  const Visits visits(70, 7);
  launch(context, "test", 7, odd_tasks_only, record, visits);
  EXPECT_EQ(visits.runs, 3);
  for (size_t item = 0; item < 70; ++item) EXPECT_EQ(visits.counts[item], item / 10 % 2 == 1 ? 1 : 0) << item;
}

// Each chunk starts with an empty NRAM; chunks with an empty range do not run.
TEST_F(TeamLaunch, DynamicVisitsEachItemOnce) {
  for (const int task_dim : kTaskDims) {
    for (const int64_t items : {0, 1, 63, 1000}) {
      for (const int chunk_count : {1, 2, 10, 300}) {
        SCOPED_TRACE(std::to_string(items) + " work items, " + std::to_string(chunk_count) + " chunks, " +
                     std::to_string(task_dim) + " tasks");
        const Visits visits(items, task_dim);
        launch_dynamic(context, "test", task_dim, chunk_count, Evenly{items}, record, visits);
        EXPECT_THAT(visits.counts, Each(Eq(1)));
        EXPECT_EQ(visits.runs, std::min<int64_t>(items, chunk_count));
        EXPECT_TRUE(visits.nram_empty);
      }
    }
  }
}

// Throws in the tasks from `first` on.
void throw_from(const int& first, int64_t begin, int64_t, Task&) {
  if (begin >= first) throw std::runtime_error("thrown by a task");
}

TEST_F(TeamLaunch, RethrowsWhatATaskThrows) {
  for (const int task_dim : kTaskDims) {
    for (const int first : {0, task_dim - 1}) {
      EXPECT_THAT([&] { launch(context, "test", task_dim, Evenly{task_dim}, throw_from, first); },
                  ::testing::ThrowsMessage<std::runtime_error>("thrown by a task"));
    }
    EXPECT_NO_THROW(launch(context, "test", task_dim, Evenly{task_dim}, throw_from, task_dim));
    expect_complete(context, 1000, task_dim);
  }
}

TEST(TeamChooseTaskDim, BoundsOfItemsBytesAndThreads) {
  constexpr int64_t kMany = int64_t{1} << 40;
  for (const int count : kTaskDims) {
    const ScopedThreads threads(count);
    for (const int64_t items : {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{63}, kMany}) {
      EXPECT_EQ(choose_task_dim(items, kMany), std::min<int64_t>(items, count));
    }
    // There is at least one task, even without work; a second task does not pay off for few bytes.
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
