// Indice convolution forward: the arguments of a call.
//
// Letters as in the design document: N rows of features, M rows of features_out, Ci and Co channels, K offsets of
// the filter. The index pairs that indice_num counts are numbered consecutively, offset by offset.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"

namespace mluop::indice_convolution_forward {

// Elements from one co, k or ci of the filters to the next.
struct FilterStrides {
  int64_t co, k, ci;
};

// Checked, except for the values of indice_pairs.
struct Args {
  const int32_t* inputs(int64_t k) const { return indice_pairs + 2 * k * N; }
  const int32_t* outputs(int64_t k) const { return indice_pairs + (2 * k + 1) * N; }
  int64_t element_bytes() const { return static_cast<int64_t>(size_of(dtype)); }
  // Nothing is added: the output, if it has elements, is zero.
  bool is_empty() const { return N == 0 || M == 0; }

  mluOpDataType_t dtype;
  int64_t N, M, Ci, Co, K;
  int64_t pair_count;  // the sum of indice_num
  FilterStrides strides;
  const void* features;         // [N, Ci]
  const void* filters;          // by strides
  const int32_t* indice_pairs;  // [K, 2, N]
  const int64_t* indice_num;    // [K]
  void* features_out;           // [M, Co]
};

// A byte count for decisions, computed in double because it may exceed int64_t: exact below 2^53, at most 2^62.
inline int64_t saturated(double bytes) { return static_cast<int64_t>(std::min(bytes, 0x1p62)); }

}  // namespace mluop::indice_convolution_forward
