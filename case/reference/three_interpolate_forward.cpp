#include "reference/three_interpolate_forward.h"

#include "reference/element.h"

namespace mluop::reference {

using Sizes = ThreeInterpolateForwardSizes;

template <class T, class Output>
void three_interpolate_forward(const Sizes& sizes, const T* features, const int32_t* indices, const T* weights,
                               Output* output) {
  using Sum = SumOf<Output>;
  for (int64_t b = 0; b < sizes.B; ++b) {
    for (int64_t c = 0; c < sizes.C; ++c) {
      const T* row = features + (b * sizes.C + c) * sizes.M;
      for (int64_t n = 0; n < sizes.N; ++n) {
        const auto product = [&](int64_t k) {
          const int64_t slot = (b * sizes.N + n) * 3 + k;
          return static_cast<Sum>(to_f32(weights[slot])) * static_cast<Sum>(to_f32(row[indices[slot]]));
        };
        put((product(0) + product(1)) + product(2), output++);
      }
    }
  }
}

template void three_interpolate_forward(const Sizes&, const float*, const int32_t*, const float*, float*);
template void three_interpolate_forward(const Sizes&, const float*, const int32_t*, const float*, double*);
template void three_interpolate_forward(const Sizes&, const Half*, const int32_t*, const Half*, Half*);
template void three_interpolate_forward(const Sizes&, const BFloat16*, const int32_t*, const BFloat16*, BFloat16*);
template void three_interpolate_forward(const Sizes&, const Half*, const int32_t*, const Half*, double*);
template void three_interpolate_forward(const Sizes&, const BFloat16*, const int32_t*, const BFloat16*, double*);

}  // namespace mluop::reference
