// Elements of random buckets, and their order, for the tests of sorts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mluop::test {

struct RandomBuckets {
  template <class Random>
  RandomBuckets(Random& random, int32_t element_count, int32_t bucket_count) {
    for (int32_t i = 0; i < element_count; ++i) {
      buckets.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(bucket_count + 1)) - 1);
      if (buckets.back() >= 0) sorted.push_back(i);
    }
    std::ranges::stable_sort(sorted, {}, [this](int32_t i) { return bucket_of(i); });
  }

  int32_t bucket_of(int32_t element) const { return buckets[static_cast<size_t>(element)]; }
  // The number of sorted elements in the buckets before this one.
  int64_t start_of(int32_t bucket) const {
    return std::ranges::lower_bound(sorted, bucket, {}, [this](int32_t i) { return bucket_of(i); }) -
           sorted.begin();
  }

  std::vector<int32_t> buckets;  // of the elements; -1: the element is not sorted
  std::vector<int32_t> sorted;   // the other elements
};

}  // namespace mluop::test
