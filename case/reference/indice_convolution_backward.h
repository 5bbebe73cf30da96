// The gradients of indice convolution by their definitions: the loops over filter offsets, pairs and channels. The
// oracles of the tests and the baselines of the perf suite.
#pragma once

#include <cstdint>

#include "reference/indice_convolution_forward.h"

namespace mluop::reference {

// Sum: the type of sums and results, float or double. T: float, Half or BFloat16. Pairs with a negative index are
// skipped.

// filters: [K, Ci, Co]; input_grad: [num_act_in, Ci].
template <class Sum, class T>
void indice_convolution_backward_data(const IndiceConvolutionForwardSizes& sizes, const T* output_grad,
                                      const T* filters, const int32_t* indice_pairs, const int64_t* indice_num,
                                      Sum* input_grad);

// filters_grad: [K, Ci, Co].
template <class Sum, class T>
void indice_convolution_backward_filter(const IndiceConvolutionForwardSizes& sizes, const T* features,
                                        const T* output_grad, const int32_t* indice_pairs,
                                        const int64_t* indice_num, Sum* filters_grad);

}  // namespace mluop::reference
