// Indice convolution backward filter: the arguments of a call.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "ops/indice_convolution/args.h"

namespace mluop::indice_convolution::backward_filter {

// Checked, except for the values of indice_pairs. Inputs are rows of features, outputs those of output_grad.
struct Args : IndexPairs {
  int64_t element_bytes() const { return static_cast<int64_t>(size_of(dtype)); }
  // The elements of the filters of an offset.
  int64_t matrix_count() const { return Ci * Co; }
  bool is_empty() const { return N == 0 || M == 0 || K == 0 || Ci == 0 || Co == 0; }

  mluOpDataType_t dtype;
  int64_t Ci, Co;
  const void* features;     // [N, Ci]
  const void* output_grad;  // [M, Co]
  void* filters_grad;       // [K, Ci, Co]
};

}  // namespace mluop::indice_convolution::backward_filter
