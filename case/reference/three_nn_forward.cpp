#include "reference/three_nn_forward.h"

#include <limits>

#include "reference/squared_distance.h"

namespace mluop::reference {
namespace {

using Sizes = ThreeNNForwardSizes;

void put(float value, float* to) { *to = value; }
void put(double value, Half* to) { *to = to_f16(value); }

template <class T>
void find(const Sizes& sizes, const T* unknown, const T* known, T* dist2, int32_t* idx) {
  using Distance = decltype(squared_distance(unknown, known));
  for (int64_t query = 0; query < sizes.B * sizes.N; ++query) {
    const T* candidates = known + query / sizes.N * sizes.M * 3;
    Distance best[3];
    int32_t best_m[3] = {0, 0, 0};
    for (Distance& each : best) each = std::numeric_limits<Distance>::infinity();
    for (int64_t m = 0; m < sizes.M; ++m) {
      const Distance d = squared_distance(unknown + query * 3, candidates + m * 3);
      int place = 3;
      while (place > 0 && d < best[place - 1]) --place;
      if (place == 3) continue;
      for (int k = 2; k > place; --k) {
        best[k] = best[k - 1];
        best_m[k] = best_m[k - 1];
      }
      best[place] = d;
      best_m[place] = static_cast<int32_t>(m);
    }
    for (int k = 0; k < 3; ++k) {
      put(best[k], dist2 + query * 3 + k);
      idx[query * 3 + k] = best_m[k];
    }
  }
}

}  // namespace

void three_nn_forward(const Sizes& sizes, const float* unknown, const float* known, float* dist2, int32_t* idx) {
  find(sizes, unknown, known, dist2, idx);
}

void three_nn_forward(const Sizes& sizes, const Half* unknown, const Half* known, Half* dist2, int32_t* idx) {
  find(sizes, unknown, known, dist2, idx);
}

}  // namespace mluop::reference
