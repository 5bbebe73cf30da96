#include "reference/indice_convolution_backward.h"

#include <algorithm>
#include <vector>

namespace mluop::reference {

using Sizes = IndiceConvolutionForwardSizes;

template <class Sum, class T>
void indice_convolution_backward_data(const Sizes& sizes, const T* output_grad, const T* filters,
                                      const int32_t* indice_pairs, const int64_t* indice_num, Sum* input_grad) {
  std::fill_n(input_grad, sizes.features_count(), Sum{0});
  // Transposed, so that compilers vectorize the innermost loop; sums still add in the order of co.
  std::vector<Sum> weights(static_cast<size_t>(sizes.filters_count()));
  for (int64_t k = 0; k < sizes.K(); ++k) {
    for (int64_t ci = 0; ci < sizes.Ci; ++ci) {
      for (int64_t co = 0; co < sizes.Co; ++co) {
        weights[static_cast<size_t>((k * sizes.Co + co) * sizes.Ci + ci)] =
            to_f32(filters[(k * sizes.Ci + ci) * sizes.Co + co]);
      }
    }
  }
  for_each_pair(sizes, indice_pairs, indice_num, [&](int64_t k, int64_t input, int64_t output) {
    Sum* sums = input_grad + input * sizes.Ci;
    for (int64_t co = 0; co < sizes.Co; ++co) {
      const Sum grad{to_f32(output_grad[output * sizes.Co + co])};
      const Sum* weight = weights.data() + (k * sizes.Co + co) * sizes.Ci;
      for (int64_t ci = 0; ci < sizes.Ci; ++ci) sums[ci] += grad * weight[ci];
    }
  });
}

template <class Sum, class T>
void indice_convolution_backward_filter(const Sizes& sizes, const T* features, const T* output_grad,
                                        const int32_t* indice_pairs, const int64_t* indice_num,
                                        Sum* filters_grad) {
  std::fill_n(filters_grad, sizes.filters_count(), Sum{0});
  std::vector<Sum> grad(static_cast<size_t>(sizes.Co));
  for_each_pair(sizes, indice_pairs, indice_num, [&](int64_t k, int64_t input, int64_t output) {
    for (int64_t co = 0; co < sizes.Co; ++co) {
      grad[static_cast<size_t>(co)] = to_f32(output_grad[output * sizes.Co + co]);
    }
    for (int64_t ci = 0; ci < sizes.Ci; ++ci) {
      const Sum feature{to_f32(features[input * sizes.Ci + ci])};
      Sum* sums = filters_grad + (k * sizes.Ci + ci) * sizes.Co;
      for (int64_t co = 0; co < sizes.Co; ++co) sums[co] += feature * grad[static_cast<size_t>(co)];
    }
  });
}

template void indice_convolution_backward_data(const Sizes&, const float*, const float*, const int32_t*,
                                               const int64_t*, float*);
template void indice_convolution_backward_data(const Sizes&, const float*, const float*, const int32_t*,
                                               const int64_t*, double*);
template void indice_convolution_backward_data(const Sizes&, const Half*, const Half*, const int32_t*,
                                               const int64_t*, double*);
template void indice_convolution_backward_data(const Sizes&, const BFloat16*, const BFloat16*, const int32_t*,
                                               const int64_t*, double*);
template void indice_convolution_backward_filter(const Sizes&, const float*, const float*, const int32_t*,
                                                 const int64_t*, float*);
template void indice_convolution_backward_filter(const Sizes&, const float*, const float*, const int32_t*,
                                                 const int64_t*, double*);
template void indice_convolution_backward_filter(const Sizes&, const Half*, const Half*, const int32_t*,
                                                 const int64_t*, double*);
template void indice_convolution_backward_filter(const Sizes&, const BFloat16*, const BFloat16*, const int32_t*,
                                                 const int64_t*, double*);

}  // namespace mluop::reference
