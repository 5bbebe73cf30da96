#include "reference/three_nn_forward.h"

#include <limits>

#include "reference/squared_distance.h"

namespace mluop::reference {

using Sizes = ThreeNNForwardSizes;

template <class T>
void three_nn_forward(const Sizes& sizes, const T* unknown, const T* known, T* dist2, int32_t* idx) {
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

template void three_nn_forward(const Sizes&, const float*, const float*, float*, int32_t*);
template void three_nn_forward(const Sizes&, const Half*, const Half*, Half*, int32_t*);
template void three_nn_forward(const Sizes&, const BFloat16*, const BFloat16*, BFloat16*, int32_t*);

}  // namespace mluop::reference
