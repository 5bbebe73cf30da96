#include "reference/furthest_point_sample.h"

#include <algorithm>
#include <vector>

#include "reference/squared_distance.h"

namespace mluop::reference {
namespace {

// The number of threads of mmcv: the largest power of two up to N, at most 1024. Its reduction visits the threads
// in the order of their bit-reversed numbers.
std::vector<int64_t> places_of_threads(int64_t N) {
  int64_t threads = 1;
  while (2 * threads <= std::min<int64_t>(N, 1024)) threads *= 2;
  std::vector<int64_t> places(static_cast<size_t>(threads));
  for (int64_t t = 0; t < threads; ++t) {
    int64_t place = 0;
    for (int64_t bit = 1; bit < threads; bit *= 2) place = 2 * place + ((t & bit) != 0 ? 1 : 0);
    places[static_cast<size_t>(t)] = place;
  }
  return places;
}

// distance(last, k): the distance from point k to the sample `last`.
template <class Distance>
void sample(int64_t N, int64_t M, int32_t* idx, const Distance& distance) {
  if (M == 0) return;
  const std::vector<int64_t> places = places_of_threads(N);
  const auto place = [&](int64_t k) { return places[static_cast<size_t>(k) % places.size()]; };
  std::vector<float> nearest(static_cast<size_t>(N), 1e10F);
  idx[0] = 0;
  for (int64_t j = 1; j < M; ++j) {
    float furthest = -1;
    int64_t selected = 0;
    for (int64_t k = 0; k < N; ++k) {
      float& to_samples = nearest[static_cast<size_t>(k)];
      // A NaN distance has no effect.
      const float d = distance(int64_t{idx[j - 1]}, k);
      if (d < to_samples) to_samples = d;
      if (to_samples > furthest || (to_samples == furthest && place(k) < place(selected))) {
        furthest = to_samples;
        selected = k;
      }
    }
    idx[j] = static_cast<int32_t>(selected);
  }
}

}  // namespace

void furthest_point_sample(const FurthestPointSampleSizes& sizes, const float* points, int32_t* idx) {
  for (int64_t b = 0; b < sizes.B; ++b) {
    const float* cloud = points + b * sizes.N * 3;
    sample(sizes.N, sizes.M, idx + b * sizes.M,
           [&](int64_t last, int64_t k) { return squared_distance(cloud + k * 3, cloud + last * 3); });
  }
}

void furthest_point_sample_with_dist(const FurthestPointSampleSizes& sizes, const float* distances, int32_t* idx) {
  for (int64_t b = 0; b < sizes.B; ++b) {
    const float* matrix = distances + b * sizes.N * sizes.N;
    sample(sizes.N, sizes.M, idx + b * sizes.M,
           [&](int64_t last, int64_t k) { return matrix[last * sizes.N + k]; });
  }
}

}  // namespace mluop::reference
