// BucketSort: sorts elements by bucket, compared to std::stable_sort.
#include "primitives/sort/bucket_sort.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "primitives/sort/random_buckets.h"
#include "support/api.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "support/labels.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

struct BucketArgs {
  BucketSort<int32_t>& sort;
  const int32_t* buckets;  // of the elements; -1: the element is not sorted
};

// Work items: elements.
void count_in_ranges(const BucketArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto counter = args.sort.counter(task.taskId);
  for (int64_t i = begin; i < end; ++i) {
    if (args.buckets[i] >= 0) counter.count(args.buckets[i]);
  }
}

// Work items: elements.
void place_in_ranges(const BucketArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto placer = args.sort.placer(task.taskId);
  for (int64_t i = begin; i < end; ++i) {
    if (args.buckets[i] >= 0) placer.place(args.buckets[i], static_cast<int32_t>(i));
  }
}

TEST(OpsBucketSort, SortsLikeStableSort) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(64);
  const Handle handle;
  Context& context = *handle;
  context.reserve(0);
  auto random = seeded_random();
  for (const int task_dim : {1, 3, 64}) {
    for (const int32_t element_count : {0, 1, 17, 3000}) {
      // Up to 256 buckets are ranges; the last range of the last size has one bucket.
      for (const int32_t bucket_count : {0, 1, 5, 256, 257, 2500, 255 * 256 + 1}) {
        if (element_count > 0 && bucket_count == 0) continue;
        SCOPED_TRACE(product_text({element_count, bucket_count, task_dim}));
        const RandomBuckets elements(random, element_count, bucket_count);
        const std::vector<int32_t>& expected = elements.sorted;
        const GuardedBuffer<std::byte> memory(
            bytes_of<BucketSort<int32_t>>(element_count, bucket_count, task_dim));
        Arena arena(memory.data(), memory.size());
        BucketSort<int32_t> sort(arena, element_count, bucket_count, task_dim);
        const BucketArgs args{sort, elements.buckets.data()};
        launch(context, "test", sort.task_dim(), Evenly{element_count}, count_in_ranges, args);
        sort.ranges.exclusive_scan(context);
        launch(context, "test", sort.task_dim(), Evenly{element_count}, place_in_ranges, args);
        sort_ranges(context, sort);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sort.elements));
        for (int32_t b = 0; b < bucket_count; ++b) {
          ASSERT_EQ(sort.starts[b], elements.start_of(b));
        }
        EXPECT_EQ(sort.element_count(), static_cast<int32_t>(expected.size()));
        if (bucket_count > 0) {
          EXPECT_EQ(sort.starts[bucket_count], sort.element_count());
        }
        EXPECT_TRUE(memory.intact());
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
