// A stable parallel sort of elements by their buckets, which may be as many as the elements. Few tasks sort by
// bucket at once. Many tasks, whose histograms of all buckets would be larger than the elements, sort by range of
// consecutive buckets, then each range by itself. Steps, the first two with the same task_dim:
//   1. the operator's kernel passes its elements to counter(taskId).count()
//   2. ranges.exclusive_scan(); then the operator's kernel visits its elements in the same order and passes them
//      to placer(taskId).place()
//   3. sort_ranges()
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "primitives/sort/counting_sort.h"

namespace mluop {

// Elements and buckets number less than 2^31.
template <class Element>
struct BucketSort {
  struct Record {
    int32_t bucket;
    Element element;
  };
  // Enough ranges for many tasks, and few enough places that a task writes to at a time.
  static constexpr int32_t kMaxRanges = 256;
  // On one thread, BEV pool takes 1.2 times as long if it sorts by range first.
  static constexpr int kMaxDirectTasks = 4;

  static int range_shift(int32_t buckets) {
    return static_cast<int>(std::bit_width(static_cast<uint32_t>(std::max(buckets - 1, 0)) / kMaxRanges));
  }

  // Up to most_tasks tasks.
  BucketSort(Arena& arena, int64_t max_elements, int32_t buckets, int most_tasks)
      : bucket_count(buckets),
        shift(most_tasks <= kMaxDirectTasks ? 0 : range_shift(buckets)),
        ranges(arena, max_elements, range_count(), sort_task_dim(max_elements, range_count(), most_tasks)),
        records(arena.take<Record>("records", {shift == 0 ? 0 : max_elements})),
        positions(arena.take<int32_t>("positions in ranges", {shift == 0 ? 0 : ranges.task_dim, range_buckets()})),
        elements(arena.take<Element>("sorted elements", {max_elements})),
        starts(shift == 0 ? ranges.starts : arena.take<int32_t>("bucket starts", {int64_t{buckets} + 1})) {}

  int64_t range_buckets() const { return int64_t{1} << shift; }
  int32_t range_count() const { return static_cast<int32_t>(ceil_div(bucket_count, range_buckets())); }
  int task_dim() const { return ranges.task_dim; }

  // Kernels keep these as local objects, which the compiler holds in registers.
  struct Counter {
    void count(int32_t bucket) const { ++counts[bucket >> shift]; }

    int32_t* counts;
    int shift;
  };
  struct Placer {
    void place(int32_t bucket, const Element& element) const {
      const int32_t position = positions[bucket >> shift]++;
      if (shift == 0) {
        elements[position] = element;
      } else {
        records[position] = {bucket, element};
      }
    }

    int32_t* positions;
    int shift;
    Record* records;
    Element* elements;
  };
  Counter counter(int task_id) {
    ranges.clear_counts(task_id);
    return {ranges.counts_of(task_id), shift};
  }
  Placer placer(int task_id) { return {ranges.positions_of(task_id), shift, records, elements}; }

  // The number of elements, after the scan.
  int32_t element_count() const { return ranges.starts[ranges.bucket_count]; }

  int32_t bucket_count;
  int shift;            // log2 of the buckets of a range
  CountingSort ranges;  // of elements, in buckets that are ranges
  Record* records;      // [max_elements], by range; none if a range is a bucket
  int32_t* positions;   // [task_dim, range_buckets()], memory of sort_ranges()
  Element* elements;    // [max_elements], by bucket
  int32_t* starts;      // [bucket_count + 1], bucket b has the elements [starts[b], starts[b + 1])
};

// Writes starts and elements, if they are not written: one launch, whose work items are ranges. Instantiated for
// int32_t and WeightedRow.
template <class Element>
void sort_ranges(Context& context, const BucketSort<Element>& sort);

}  // namespace mluop
