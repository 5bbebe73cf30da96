#include "reference/indice_convolution_forward.h"

#include <algorithm>
#include <vector>

namespace mluop::reference {

using Sizes = IndiceConvolutionForwardSizes;

int64_t filter_index(const Sizes& sizes, FilterLayout layout, int64_t k, int64_t ci, int64_t co) {
  switch (layout) {
    case FilterLayout::kNdhwc: return (co * sizes.K() + k) * sizes.Ci + ci;
    case FilterLayout::kNcdhw: return (co * sizes.Ci + ci) * sizes.K() + k;
    case FilterLayout::kArray: break;
  }
  return (k * sizes.Ci + ci) * sizes.Co + co;
}

void indice_convolution_forward(const Sizes& sizes, const float* features, const float* filters,
                                const int32_t* indice_pairs, const int64_t* indice_num, float* features_out) {
  std::fill_n(features_out, sizes.features_out_count(), 0.0F);
  for_each_pair(sizes, indice_pairs, indice_num, [&](int64_t k, int64_t input, int64_t output) {
    const float* feature = features + input * sizes.Ci;
    for (int64_t co = 0; co < sizes.Co; ++co) {
      const float* weight = filters + (co * sizes.K() + k) * sizes.Ci;
      float sum = 0;
      for (int64_t ci = 0; ci < sizes.Ci; ++ci) sum += feature[ci] * weight[ci];
      features_out[output * sizes.Co + co] += sum;
    }
  });
}

// Number of channels whose sums are in registers. The loop is naive in every other respect.
constexpr int64_t kBlock = 16;

template <class T>
void indice_convolution_forward(const Sizes& sizes, const T* features, FilterLayout layout, const T* filters,
                                const int32_t* indice_pairs, const int64_t* indice_num, int64_t first_channel,
                                int64_t last_channel, double* features_out) {
  for (int64_t first = first_channel; first < last_channel; first += kBlock) {
    const int64_t channels = std::min(kBlock, last_channel - first);
    std::vector<double> weights(static_cast<size_t>(sizes.K() * sizes.Ci * kBlock));
    for (int64_t k = 0; k < sizes.K(); ++k) {
      for (int64_t ci = 0; ci < sizes.Ci; ++ci) {
        for (int64_t c = 0; c < channels; ++c) {
          weights[static_cast<size_t>((k * sizes.Ci + ci) * kBlock + c)] =
              to_f32(filters[filter_index(sizes, layout, k, ci, first + c)]);
        }
      }
    }
    for (int64_t row = 0; row < sizes.num_act_out; ++row) {
      std::fill_n(features_out + row * sizes.Co + first, channels, 0.0);
    }
    for_each_pair(sizes, indice_pairs, indice_num, [&](int64_t k, int64_t input, int64_t output) {
      double sums[kBlock] = {};
      for (int64_t ci = 0; ci < sizes.Ci; ++ci) {
        const double feature = to_f32(features[input * sizes.Ci + ci]);
        const double* row = weights.data() + (k * sizes.Ci + ci) * kBlock;
        for (int64_t c = 0; c < kBlock; ++c) sums[c] += feature * row[c];
      }
      for (int64_t c = 0; c < channels; ++c) features_out[output * sizes.Co + first + c] += sums[c];
    });
  }
}

template void indice_convolution_forward(const Sizes&, const float*, FilterLayout, const float*, const int32_t*,
                                         const int64_t*, int64_t, int64_t, double*);
template void indice_convolution_forward(const Sizes&, const Half*, FilterLayout, const Half*, const int32_t*,
                                         const int64_t*, int64_t, int64_t, double*);
template void indice_convolution_forward(const Sizes&, const BFloat16*, FilterLayout, const BFloat16*,
                                         const int32_t*, const int64_t*, int64_t, int64_t, double*);

}  // namespace mluop::reference
