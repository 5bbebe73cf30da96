// The heap of the k nearest points, as mmcv keeps it. The definition of the operator includes which of several
// equal distances enter it, and the order in which it sorts them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ops/knn/knn.h"

namespace mluop::knn::native {

class NeighborHeap {
 public:
  explicit NeighborHeap(int64_t k) : k_(k) {
    std::fill_n(distances_, k, kNoNeighbor);
    std::fill_n(indices_, k, 0);
  }

  float largest() const { return distances_[0]; }

  // Replaces the largest distance by a lesser one.
  void replace_largest(float distance, int32_t index) {
    distances_[0] = distance;
    indices_[0] = index;
    sift_down(k_);
  }

  // Sorts the distances, which are then no longer a heap, and writes the row of a center.
  void write_sorted(int32_t* idx, float* dist2) {
    for (int64_t last = k_ - 1; last > 0; --last) {
      exchange(0, last);
      sift_down(last);
    }
    std::copy_n(indices_, k_, idx);
    std::copy_n(distances_, k_, dist2);
  }

 private:
  // Exchanges the root of the first `count` entries with its larger child (ties: the left) until it is larger than
  // both children.
  void sift_down(int64_t count) {
    int64_t root = 0;
    for (int64_t child = 1; child < count; child = 2 * root + 1) {
      if (child + 1 < count && distances_[child + 1] > distances_[child]) ++child;
      if (distances_[root] > distances_[child]) return;
      exchange(root, child);
      root = child;
    }
  }

  void exchange(int64_t a, int64_t b) {
    std::swap(distances_[a], distances_[b]);
    std::swap(indices_[a], indices_[b]);
  }

  int64_t k_;
  float distances_[kMaxK];
  int32_t indices_[kMaxK];
};

}  // namespace mluop::knn::native
