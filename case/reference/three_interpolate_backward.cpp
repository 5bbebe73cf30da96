#include "reference/three_interpolate_backward.h"

#include <algorithm>
#include <vector>

#include "reference/element.h"

namespace mluop::reference {

using Sizes = ThreeInterpolateBackwardSizes;

template <class T, class Output>
void three_interpolate_backward(const Sizes& sizes, const T* grad_output, const int32_t* indices, const T* weights,
                                Output* grad_features) {
  using Sum = SumOf<Output>;
  std::vector<Sum> sums(static_cast<size_t>(sizes.M));
  for (int64_t channel = 0; channel < sizes.B * sizes.C; ++channel) {
    std::fill(sums.begin(), sums.end(), Sum{0});
    for (int64_t n = 0; n < sizes.N; ++n) {
      const Sum gradient = to_f32(grad_output[channel * sizes.N + n]);
      const int64_t slots = (channel / sizes.C * sizes.N + n) * 3;
      for (int64_t slot = slots; slot < slots + 3; ++slot) {
        sums[static_cast<size_t>(indices[slot])] += gradient * static_cast<Sum>(to_f32(weights[slot]));
      }
    }
    for (const Sum sum : sums) put(sum, grad_features++);
  }
}

template void three_interpolate_backward(const Sizes&, const float*, const int32_t*, const float*, float*);
template void three_interpolate_backward(const Sizes&, const float*, const int32_t*, const float*, double*);
template void three_interpolate_backward(const Sizes&, const Half*, const int32_t*, const Half*, Half*);
template void three_interpolate_backward(const Sizes&, const BFloat16*, const int32_t*, const BFloat16*,
                                         BFloat16*);
template void three_interpolate_backward(const Sizes&, const Half*, const int32_t*, const Half*, double*);
template void three_interpolate_backward(const Sizes&, const BFloat16*, const int32_t*, const BFloat16*, double*);

}  // namespace mluop::reference
