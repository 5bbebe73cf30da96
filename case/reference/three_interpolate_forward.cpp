#include "reference/three_interpolate_forward.h"

namespace mluop::reference {
namespace {

using Sizes = ThreeInterpolateForwardSizes;

// Passes each sum to `put`, in the order of the output.
template <class Sum, class T, class Put>
void for_each_sum(const Sizes& sizes, const T* features, const int32_t* indices, const T* weights,
                  const Put& put) {
  for (int64_t b = 0; b < sizes.B; ++b) {
    for (int64_t c = 0; c < sizes.C; ++c) {
      const T* row = features + (b * sizes.C + c) * sizes.M;
      for (int64_t n = 0; n < sizes.N; ++n) {
        const auto product = [&](int64_t k) {
          const int64_t slot = (b * sizes.N + n) * 3 + k;
          return static_cast<Sum>(to_f32(weights[slot])) * static_cast<Sum>(to_f32(row[indices[slot]]));
        };
        put((b * sizes.C + c) * sizes.N + n, (product(0) + product(1)) + product(2));
      }
    }
  }
}

}  // namespace

void three_interpolate_forward(const Sizes& sizes, const float* features, const int32_t* indices,
                               const float* weights, float* output) {
  for_each_sum<float>(sizes, features, indices, weights, [=](int64_t i, float sum) { output[i] = sum; });
}

void three_interpolate_forward(const Sizes& sizes, const Half* features, const int32_t* indices,
                               const Half* weights, Half* output) {
  for_each_sum<float>(sizes, features, indices, weights, [=](int64_t i, float sum) { output[i] = to_f16(sum); });
}

void three_interpolate_forward(const Sizes& sizes, const float* features, const int32_t* indices,
                               const float* weights, double* output) {
  for_each_sum<double>(sizes, features, indices, weights, [=](int64_t i, double sum) { output[i] = sum; });
}

void three_interpolate_forward(const Sizes& sizes, const Half* features, const int32_t* indices,
                               const Half* weights, double* output) {
  for_each_sum<double>(sizes, features, indices, weights, [=](int64_t i, double sum) { output[i] = sum; });
}

}  // namespace mluop::reference
