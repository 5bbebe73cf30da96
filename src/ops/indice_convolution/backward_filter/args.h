// Indice convolution backward filter: the arguments of a call.
#pragma once

#include <cstdint>

#include "ops/indice_convolution/args.h"

namespace mluop::indice_convolution::backward_filter {

// Checked, except for the values of indice_pairs. Inputs are rows of features, outputs those of output_grad.
struct Args : PairedRows {
  // The elements of the filters of an offset.
  int64_t matrix_count() const { return Ci * Co; }

  const void* features;     // [N, Ci]
  const void* output_grad;  // [M, Co]
  void* filters_grad;       // [K, Ci, Co]
};

}  // namespace mluop::indice_convolution::backward_filter
