#include "reference/knn.h"

#include <utility>
#include <vector>

#include "reference/squared_distance.h"

namespace mluop::reference {
namespace {

struct Neighbor {
  float distance;
  int32_t index;
};

// Moves the root of heap[0, count) down. Equal distances are exchanged; among equal children, the first is
// exchanged.
void reheap(std::vector<Neighbor>& heap, size_t count) {
  size_t root = 0;
  while (2 * root + 1 < count) {
    size_t child = 2 * root + 1;
    if (child + 1 < count && heap[child + 1].distance > heap[child].distance) child = child + 1;
    if (heap[root].distance > heap[child].distance) return;
    std::swap(heap[root], heap[child]);
    root = child;
  }
}

}  // namespace

void knn(const KnnSizes& sizes, const float* xyz, const float* new_xyz, int32_t* idx, float* dist2) {
  const auto k = static_cast<size_t>(sizes.k);
  for (int64_t center = 0; center < sizes.B * sizes.M; ++center) {
    const float* points = xyz + center / sizes.M * sizes.N * 3;
    std::vector<Neighbor> heap(k, {1e10F, 0});
    for (int64_t n = 0; n < sizes.N; ++n) {
      const float d = squared_distance(new_xyz + center * 3, points + n * 3);
      if (!(d < heap[0].distance)) continue;
      heap[0] = {d, static_cast<int32_t>(n)};
      reheap(heap, k);
    }
    for (size_t last = k - 1; last > 0; --last) {
      std::swap(heap[0], heap[last]);
      reheap(heap, last);
    }
    for (const Neighbor& neighbor : heap) {
      *idx++ = neighbor.index;
      *dist2++ = neighbor.distance;
    }
  }
}

}  // namespace mluop::reference
