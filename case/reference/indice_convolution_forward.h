// Indice convolution forward by its definition: the loops over filter offsets, pairs and channels. The oracle of
// the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

#include "reference/element.h"

namespace mluop::reference {

struct IndiceConvolutionForwardSizes {
  int64_t num_act_in, num_act_out, Ci, Co, D, H, W;

  int64_t K() const { return D * H * W; }
  int64_t features_count() const { return num_act_in * Ci; }
  int64_t filters_count() const { return K() * Ci * Co; }
  int64_t pairs_count() const { return K() * 2 * num_act_in; }
  int64_t features_out_count() const { return num_act_out * Co; }
};

// Calls body(k, input, output) for each valid pair.
template <class Body>
void for_each_pair(const IndiceConvolutionForwardSizes& sizes, const int32_t* indice_pairs,
                   const int64_t* indice_num, const Body& body) {
  for (int64_t k = 0; k < sizes.K(); ++k) {
    const int32_t* inputs = indice_pairs + k * 2 * sizes.num_act_in;
    const int32_t* outputs = inputs + sizes.num_act_in;
    for (int64_t l = 0; l < indice_num[k]; ++l) {
      if (inputs[l] >= 0 && outputs[l] >= 0) body(k, int64_t{inputs[l]}, int64_t{outputs[l]});
    }
  }
}

enum class FilterLayout {
  kNdhwc,  // [Co, D, H, W, Ci]
  kNcdhw,  // [Co, Ci, D, H, W]
  kArray,  // [D, H, W, Ci, Co]
};

// The index of the element of filters for filter offset k, input channel ci and output channel co.
int64_t filter_index(const IndiceConvolutionForwardSizes& sizes, FilterLayout layout, int64_t k, int64_t ci,
                     int64_t co);

// The definition's serial loop in fp32, with filters [Co, D, H, W, Ci].
void indice_convolution_forward(const IndiceConvolutionForwardSizes& sizes, const float* features,
                                const float* filters, const int32_t* indice_pairs, const int64_t* indice_num,
                                float* features_out);

// The channels [first_channel, last_channel) of the output in double. Threads may compute different channels
// concurrently. T: float, Half or BFloat16.
template <class T>
void indice_convolution_forward(const IndiceConvolutionForwardSizes& sizes, const T* features, FilterLayout layout,
                                const T* filters, const int32_t* indice_pairs, const int64_t* indice_num,
                                int64_t first_channel, int64_t last_channel, double* features_out);

}  // namespace mluop::reference
