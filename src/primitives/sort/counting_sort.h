// A stable parallel counting sort: from the histograms of the tasks to the position of each element. Steps, each a
// launch over the elements with the same task_dim:
//   1. the operator's kernel calls clear_counts() and counts its elements in counts_of(taskId)
//   2. exclusive_scan() computes starts and positions
//   3. the operator's kernel visits its elements in the same order; an element of bucket b goes to the position
//      positions_of(taskId)[b]++
// Cost: 4 bytes for each task and bucket, which sort_task_dim() keeps below 16 bytes an element.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/arena.h"
#include "team/launch.h"

namespace mluop {

// The number of elements of each bucket in each row; a row is a set of elements, such as the elements of a task.
template <class Number>
struct BucketCounts {
  Number* row(int row) const { return counts + row * buckets; }

  Number* counts;  // [rows, buckets]
  int rows;
  int64_t buckets;
  Number* starts;  // [buckets + 1], first position of each bucket, and the end of the last; or null
  Number* totals;  // [rows], memory of the scan
};

// Replaces counts by the positions of the first elements, ordered by bucket, then by row. Writes starts.
// Instantiated for int32_t and uint32_t.
template <class Number>
void exclusive_scan(Context& context, const BucketCounts<Number>& args);

// Elements and buckets number less than 2^31.
struct CountingSort {
  CountingSort(Arena& arena, int64_t elements, int32_t buckets, int tasks);

  // Zeroes the histogram of a task; call it before counting its first element.
  void clear_counts(int task_id);
  int32_t* counts_of(int task_id) { return counts + int64_t{task_id} * bucket_count; }

  // Replaces counts by positions, ordered by bucket, then by task.
  void exclusive_scan(Context& context);
  int32_t* positions_of(int task_id) { return positions + int64_t{task_id} * bucket_count; }

  int64_t element_count;
  int32_t bucket_count;
  int task_dim;
  int32_t* starts;       // [bucket_count + 1], bucket b has the positions [starts[b], starts[b + 1])
  int32_t* counts;       // [task_dim, bucket_count], elements
  int32_t* positions;    // the same memory after exclusive_scan(): position of the next element
  int32_t* task_totals;  // [task_dim], elements of the buckets of a task of the scan
};

// The same on one task, without a launch: sorted[0, count) = the elements; bucket b is [starts[b], starts[b + 1]),
// with its elements in their original order. bucket_of(element) is in [0, buckets).
template <class Number, class BucketOf>
void sort_on_one_task(int64_t count, int64_t buckets, const BucketOf& bucket_of, Number* starts, Number* sorted) {
  std::fill_n(starts, buckets + 1, Number{0});
  // First the number of elements of each bucket, then the position of the next element, finally the end of the
  // bucket.
  Number* const positions = starts + 1;
  for (Number i = 0; i < count; ++i) ++positions[bucket_of(i)];
  std::exclusive_scan(positions, positions + buckets, positions, Number{0});
  for (Number i = 0; i < count; ++i) sorted[positions[bucket_of(i)]++] = i;
}

// The largest number of tasks, up to task_dim, such that each has elements and the histograms are small compared
// to the elements.
int sort_task_dim(int64_t element_count, int32_t bucket_count, int task_dim);

// Divides the buckets, for `rounds` passes over them, so that tasks get equal shares of the cost: a bucket costs
// its elements plus bucket_cost.
struct ByElements {
  const int32_t* starts;  // [bucket_count + 1]
  int64_t bucket_count, bucket_cost, rounds;
  Range operator()(int task_dim, int task_id) const;
};

}  // namespace mluop
