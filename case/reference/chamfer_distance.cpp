#include "reference/chamfer_distance.h"

#include <cmath>
#include <limits>

#include "reference/element.h"

namespace mluop::reference {

template <class T>
void find_nearest(const NearestSizes& sizes, const T* queries, const T* known, T* dist, int32_t* idx) {
  for (int64_t query = 0; query < sizes.B * sizes.N; ++query) {
    const float x = to_f32(queries[2 * query]), y = to_f32(queries[2 * query + 1]);
    const T* const others = known + query / sizes.N * sizes.M * 2;
    float nearest = sizes.M == 0 ? 0 : std::numeric_limits<float>::quiet_NaN();
    idx[query] = 0;
    for (int64_t m = 0; m < sizes.M; ++m) {
      const float dx = x - to_f32(others[2 * m]), dy = y - to_f32(others[2 * m + 1]);
      const float distance = dx * dx + dy * dy;
      if (std::isnan(distance) || nearest <= distance) continue;
      nearest = distance;
      idx[query] = static_cast<int32_t>(m);
    }
    put(nearest, dist + query);
  }
}

template void find_nearest(const NearestSizes&, const float*, const float*, float*, int32_t*);
template void find_nearest(const NearestSizes&, const Half*, const Half*, Half*, int32_t*);
template void find_nearest(const NearestSizes&, const BFloat16*, const BFloat16*, BFloat16*, int32_t*);

}  // namespace mluop::reference
