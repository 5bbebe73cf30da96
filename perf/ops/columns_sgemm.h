// Columns and GEMM, the usual implementation of deformable convolution on CPUs: writes the interpolated channels
// of all samples to a matrix and multiplies it by the filters.
#pragma once

#include <dnnl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "perf/support/measures.h"
#include "reference/dcn.h"

namespace mluop::perf {

// Forward pass, one image at a time, with one group and one deformable group, using oneDNN's sgemm; each pass runs
// on all threads. Requires that Ci is a multiple of 16. Allocates the columns of an image.
class ColumnsSgemm {
 public:
  using Problem = reference::DcnProblem;

  explicit ColumnsSgemm(const Problem& problem)
      : p_(problem), columns_(problem.Ho * problem.Wo * problem.kernel_h * problem.kernel_w * problem.Ci) {}

  void run(const reference::DcnSamples<float>& samples, const float* filter, const float* bias, float* output) {
    const int64_t pixels = p_.Ho * p_.Wo, columns = p_.kernel_h * p_.kernel_w * p_.Ci;
    for (int64_t n = 0; n < p_.N; ++n) {
      float* const to = output + n * pixels * p_.Co;
      parallel_for(pixels, [&](int64_t pixel) {
        std::copy_n(bias, p_.Co, to + pixel * p_.Co);
        write_columns(samples, n, pixel, columns_.data() + pixel * columns);
      });
      if (dnnl_sgemm('N', 'T', pixels, p_.Co, columns, 1, columns_.data(), columns, filter, columns, 1, to,
                     p_.Co) != dnnl_success) {
        throw std::runtime_error("dnnl_sgemm failed");
      }
    }
  }

 private:
  void write_columns(const reference::DcnSamples<float>& samples, int64_t n, int64_t pixel, float* to) const {
    const int64_t K = p_.kernel_h * p_.kernel_w, first = (n * p_.Ho * p_.Wo + pixel) * K;
    const float* const image = samples.input + n * p_.H * p_.W * p_.Ci;
    for (int64_t k = 0; k < K; ++k, to += p_.Ci) {
      const int64_t i = k / p_.kernel_w, j = k % p_.kernel_w;
      const float* const offset = samples.offset + 2 * (first + k);
      const float y = static_cast<float>(pixel / p_.Wo * p_.stride_h - p_.pad_top + i * p_.dilation_h) + offset[0];
      const float x =
          static_cast<float>(pixel % p_.Wo * p_.stride_w - p_.pad_left + j * p_.dilation_w) + offset[1];
      const float mask = samples.mask == nullptr ? 1 : samples.mask[first + k];
      interpolate(image, y, x, mask, to);
    }
  }

  void interpolate(const float* image, float y, float x, float mask, float* to) const {
    const float top = std::floor(y), left = std::floor(x), below = y - top, right = x - left;
    const auto row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
    const float weights[4] = {(1 - below) * (1 - right) * mask, (1 - below) * right * mask,
                              below * (1 - right) * mask, below * right * mask};
    const float* pixels[4];
    for (int64_t corner = 0; corner < 4; ++corner) {
      const int64_t h = row + corner / 2, w = column + corner % 2;
      const bool exists = 0 <= h && h < p_.H && 0 <= w && w < p_.W;
      pixels[corner] = exists ? image + (h * p_.W + w) * p_.Ci : zeros_.data();
    }
    // Fixed trip count, which compilers vectorize.
    for (int64_t c = 0; c < p_.Ci; c += 16) {
      for (int64_t l = c; l < c + 16; ++l) {
        to[l] = weights[0] * pixels[0][l] + weights[1] * pixels[1][l] + weights[2] * pixels[2][l] +
                weights[3] * pixels[3][l];
      }
    }
  }

  Problem p_;
  Buffer<float> columns_;
  std::vector<float> zeros_ = std::vector<float>(static_cast<size_t>(p_.Ci));
};

}  // namespace mluop::perf
