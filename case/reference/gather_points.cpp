#include "reference/gather_points.h"

#include <cstddef>
#include <vector>

#include "reference/element.h"

namespace mluop::reference {

using Sizes = GatherPointsSizes;

template <class T>
void gather_points_forward(const Sizes& sizes, const T* features, const int32_t* indices, T* output) {
  for (int64_t b = 0; b < sizes.B; ++b) {
    for (int64_t c = 0; c < sizes.C; ++c) {
      const T* row = features + (b * sizes.C + c) * sizes.N;
      for (int64_t m = 0; m < sizes.M; ++m) *output++ = row[indices[b * sizes.M + m]];
    }
  }
}

template <class T, class Output>
void gather_points_backward(const Sizes& sizes, const T* grad_output, const int32_t* indices,
                            Output* grad_features) {
  using Sum = SumOf<Output>;
  for (int64_t b = 0; b < sizes.B; ++b) {
    for (int64_t c = 0; c < sizes.C; ++c) {
      std::vector<Sum> sums(static_cast<size_t>(sizes.N));
      for (int64_t m = 0; m < sizes.M; ++m) {
        sums[static_cast<size_t>(indices[b * sizes.M + m])] += static_cast<Sum>(to_f32(*grad_output++));
      }
      for (const Sum sum : sums) put(sum, grad_features++);
    }
  }
}

template void gather_points_forward(const Sizes&, const uint16_t*, const int32_t*, uint16_t*);
template void gather_points_forward(const Sizes&, const uint32_t*, const int32_t*, uint32_t*);
template void gather_points_backward(const Sizes&, const float*, const int32_t*, float*);
template void gather_points_backward(const Sizes&, const float*, const int32_t*, double*);
template void gather_points_backward(const Sizes&, const Half*, const int32_t*, Half*);
template void gather_points_backward(const Sizes&, const BFloat16*, const int32_t*, BFloat16*);
template void gather_points_backward(const Sizes&, const Half*, const int32_t*, double*);
template void gather_points_backward(const Sizes&, const BFloat16*, const int32_t*, double*);

}  // namespace mluop::reference
