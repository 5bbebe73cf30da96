#include "reference/three_interpolate_backward.h"

#include <algorithm>
#include <vector>

namespace mluop::reference {
namespace {

using Sizes = ThreeInterpolateBackwardSizes;

// Sets sums[M] to the sums of the products of one channel.
template <class T, class Sum>
void add_channel(const Sizes& sizes, const T* grad_output, const int32_t* indices, const T* weights, Sum* sums) {
  std::fill_n(sums, sizes.M, Sum{0});
  for (int64_t n = 0; n < sizes.N; ++n) {
    const Sum gradient = to_f32(grad_output[n]);
    sums[indices[n * 3]] += gradient * static_cast<Sum>(to_f32(weights[n * 3]));
    sums[indices[n * 3 + 1]] += gradient * static_cast<Sum>(to_f32(weights[n * 3 + 1]));
    sums[indices[n * 3 + 2]] += gradient * static_cast<Sum>(to_f32(weights[n * 3 + 2]));
  }
}

template <class Body>
void for_each_channel(const Sizes& sizes, const Body& body) {
  for (int64_t b = 0; b < sizes.B; ++b) {
    for (int64_t c = 0; c < sizes.C; ++c) {
      body(b * sizes.N * 3, (b * sizes.C + c) * sizes.N, (b * sizes.C + c) * sizes.M);
    }
  }
}

}  // namespace

void three_interpolate_backward(const Sizes& sizes, const float* grad_output, const int32_t* indices,
                                const float* weights, float* grad_features) {
  for_each_channel(sizes, [&](int64_t points, int64_t in, int64_t out) {
    add_channel(sizes, grad_output + in, indices + points, weights + points, grad_features + out);
  });
}

void three_interpolate_backward(const Sizes& sizes, const Half* grad_output, const int32_t* indices,
                                const Half* weights, Half* grad_features) {
  std::vector<float> sums(static_cast<size_t>(sizes.M));
  for_each_channel(sizes, [&](int64_t points, int64_t in, int64_t out) {
    add_channel(sizes, grad_output + in, indices + points, weights + points, sums.data());
    std::transform(sums.begin(), sums.end(), grad_features + out, [](float sum) { return to_f16(sum); });
  });
}

void three_interpolate_backward(const Sizes& sizes, const float* grad_output, const int32_t* indices,
                                const float* weights, double* grad_features) {
  for_each_channel(sizes, [&](int64_t points, int64_t in, int64_t out) {
    add_channel(sizes, grad_output + in, indices + points, weights + points, grad_features + out);
  });
}

void three_interpolate_backward(const Sizes& sizes, const Half* grad_output, const int32_t* indices,
                                const Half* weights, double* grad_features) {
  for_each_channel(sizes, [&](int64_t points, int64_t in, int64_t out) {
    add_channel(sizes, grad_output + in, indices + points, weights + points, grad_features + out);
  });
}

}  // namespace mluop::reference
