// CountingSort: sorts elements by bucket, compared to std::stable_sort.
#include "primitives/sort/counting_sort.h"

#include <gtest/gtest.h>

#include "primitives/sort/random_buckets.h"
#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "support/labels.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

struct SortArgs {
  CountingSort& sort;
  const int32_t* buckets;  // of the elements; -1: the element is not sorted
  int32_t* sorted;
};

// Work items: elements.
void count(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  args.sort.clear_counts(task.taskId);
  for (int64_t i = begin; i < end; ++i) {
    if (args.buckets[i] >= 0) ++args.sort.counts_of(task.taskId)[args.buckets[i]];
  }
}

// Work items: elements.
void place(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  for (int64_t i = begin; i < end; ++i) {
    if (args.buckets[i] >= 0) {
      args.sorted[args.sort.positions_of(task.taskId)[args.buckets[i]]++] = static_cast<int32_t>(i);
    }
  }
}

TEST(OpsCountingSort, SortsLikeStableSort) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(64);
  const Handle handle;
  Context& context = *handle;
  context.reserve(0);
  auto random = seeded_random();
  for (const int task_dim : {1, 2, 3, 7, 64}) {
    for (const int32_t element_count : {0, 1, 2, 17, 3000}) {
      for (const int32_t bucket_count : {1, 5, 2500}) {
        SCOPED_TRACE(product_text({element_count, bucket_count, task_dim}));
        const RandomBuckets elements(random, element_count, bucket_count);
        const std::vector<int32_t>& expected = elements.sorted;
        const GuardedBuffer<int32_t> sorted(expected.size());
        const GuardedBuffer<std::byte> memory(bytes_of<CountingSort>(element_count, bucket_count, task_dim));
        Arena arena(memory.data(), memory.size());
        CountingSort sort(arena, element_count, bucket_count, task_dim);
        const SortArgs args{sort, elements.buckets.data(), sorted.data()};
        launch(context, "test", task_dim, Evenly{element_count}, count, args);
        sort.exclusive_scan(context);
        launch(context, "test", task_dim, Evenly{element_count}, place, args);
        EXPECT_EQ(sorted.values(), expected);
        for (int32_t b = 0; b <= bucket_count; ++b) {
          ASSERT_EQ(sort.starts[b], elements.start_of(b));
        }
        EXPECT_TRUE(memory.intact() && sorted.intact());
      }
    }
  }
}

// Every task has elements, and the histograms take at most 16 bytes for each element if more than one task counts.
TEST(OpsCountingSort, TaskDim) {
  for (const int64_t elements : {0, 1, 5, 1000, 1 << 30}) {
    for (const int32_t buckets : {1, 3, 1000, 1 << 30}) {
      const int task_dim = sort_task_dim(elements, buckets, 64);
      EXPECT_GE(task_dim, 1);
      EXPECT_LE(task_dim, 64);
      if (task_dim == 1) continue;
      EXPECT_LE(task_dim, elements);
      EXPECT_LE(int64_t{4} * task_dim * buckets, 16 * elements);
    }
  }
}

}  // namespace
}  // namespace mluop::test
