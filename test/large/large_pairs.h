// The index pairs of a small sparse convolution between rows of tensors of more than 2^31 elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "large/large_memory.h"
#include "ops/indice_convolution_forward/call.h"

namespace mluop::test {

struct LargePairs {
  // Input row i of the small convolution becomes row in[i] of `in_rows`, output row i row out[i] of `out_rows`.
  LargePairs(const IndiceConvolutionSizes& small, const std::vector<int32_t>& small_pairs,
             const std::vector<int64_t>& indice_num, int64_t in_rows, int64_t out_rows, std::mt19937& random);

  IndiceConvolutionSizes sizes;  // with the large numbers of rows
  std::vector<int64_t> in, out;  // ascending: the last rows and others
  LargeBuffer<int32_t> pairs;
};

// Copies row i of `small` to row rows[i] of `large`.
template <class T>
void copy_rows(const std::vector<T>& small, int64_t channels, const std::vector<int64_t>& rows,
               const LargeBuffer<T>& large) {
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(small.begin() + static_cast<int64_t>(i) * channels, channels, large.data() + rows[i] * channels);
  }
}

// Whether a row of `large` is row i of `expected` if it is rows[i], else zeros.
template <class T>
bool row_holds(const LargeBuffer<T>& large, int64_t row, int64_t channels, const std::vector<int64_t>& rows,
               const std::vector<float>& expected) {
  const T* values = large.data() + row * channels;
  const auto at = std::lower_bound(rows.begin(), rows.end(), row);
  if (at == rows.end() || *at != row) return all_zero(values, static_cast<size_t>(channels) * sizeof(T));
  return std::equal(values, values + channels, expected.begin() + (at - rows.begin()) * channels,
                    [](T a, float b) { return to_f32(a) == b; });
}

}  // namespace mluop::test
