// Sums of rows by bucket: the elements of a bucket sort name rows of a matrix, and row b of the result is the sum
// of the rows of bucket b, in order, each multiplied by its weight if it has one. Products and sums are fp32;
// sums start at +0 and are rounded once to the element type.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/sort/bucket_sort.h"
#include "team/launch.h"

namespace mluop {

// The cost of writing a row of the result, relative to reading a row.
inline constexpr int64_t kWriteCost = 2;

struct WeightedRow {
  int32_t row;
  float weight;
  int32_t element;  // element of the sort
};

// Element: int32_t (a row) or WeightedRow.
template <class Element>
struct BucketSums {
  const BucketSort<Element>& sort;
  mluOpDataType_t dtype;
  int64_t channels;
  const void* from;  // rows of `channels`
  void* to;          // [buckets, channels]
};

// One launch; tasks share the channels of a bucket with more elements than a task's share. Instantiated for both
// kinds of elements.
template <class Element>
void sum_buckets(Context& context, const BucketSums<Element>& args);

}  // namespace mluop
