// Gather-GEMM-scatter, the baseline of sparse convolution and its gradients on CPUs.
#pragma once

#include <dnnl.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "perf/support/measures.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::perf {

// Indice convolution forward, or the gradient of the features or of the filters.
enum class Kind { kForward, kData, kFilter };

// For each filter offset, gathers the rows of its pairs, multiplies them with oneDNN's sgemm and, except for the
// gradient of the filters, scatters the products to the result; each pass runs on all threads. Requires that a row
// of the result occurs at most once in the pairs of an offset, that no index is negative, and that Ci and Co are
// multiples of 16. Allocates one row of inputs and one of outputs per pair.
class GatherSgemmScatter {
 public:
  using Sizes = reference::IndiceConvolutionForwardSizes;

  // Each call reads the pairs; max_pairs: the maximum number of pairs of an offset.
  GatherSgemmScatter(const Sizes& sizes, const int32_t* indice_pairs, const int64_t* indice_num, int64_t max_pairs)
      : sizes_(sizes),
        indice_pairs_(indice_pairs),
        indice_num_(indice_num),
        inputs_(max_pairs * sizes.Ci),
        outputs_(max_pairs * sizes.Co) {}

  // `first` and `second` are features and filters, output_grad and filters, or features and output_grad. Filters
  // and their gradient: [D, H, W, Ci, Co].
  void run(Kind kind, const float* first, const float* second, float* result) {
    const auto& [num_act_in, num_act_out, Ci, Co, D, H, W] = sizes_;
    const int64_t filter = Ci * Co;
    float *const inputs = inputs_.data(), *const outputs = outputs_.data();
    switch (kind) {
      case Kind::kForward: set_zero(result, num_act_out, Co); break;
      case Kind::kData: set_zero(result, num_act_in, Ci); break;
      case Kind::kFilter: break;
    }
    for (int64_t k = 0; k < sizes_.K(); ++k) {
      const int64_t n = indice_num_[k];
      if (n == 0) {
        if (kind == Kind::kFilter) set_zero(result + k * filter, Ci, Co);
        continue;
      }
      const int32_t *rows_in = indice_pairs_ + k * 2 * num_act_in, *rows_out = rows_in + num_act_in;
      switch (kind) {
        case Kind::kForward:
          gather(first, rows_in, n, Ci, inputs);
          sgemm('N', 'N', n, Co, Ci, inputs, Ci, second + k * filter, Co, outputs);
          scatter(outputs, rows_out, n, Co, result);
          break;
        case Kind::kData:
          gather(first, rows_out, n, Co, outputs);
          sgemm('N', 'T', n, Ci, Co, outputs, Co, second + k * filter, Co, inputs);
          scatter(inputs, rows_in, n, Ci, result);
          break;
        case Kind::kFilter:
          gather(first, rows_in, n, Ci, inputs);
          gather(second, rows_out, n, Co, outputs);
          sgemm('T', 'N', Ci, Co, n, inputs, Ci, outputs, Co, result + k * filter);
      }
    }
  }

 private:
  static void set_zero(float* rows, int64_t count, int64_t channels) {
    parallel_for(count, [=](int64_t row) { std::fill_n(rows + row * channels, channels, 0.0F); });
  }

  // Gathers the rows of `from` that `rows` names.
  static void gather(const float* from, const int32_t* rows, int64_t count, int64_t channels, float* to) {
    parallel_for(count, [=](int64_t l) { std::copy_n(from + rows[l] * channels, channels, to + l * channels); });
  }

  static void scatter(const float* products, const int32_t* rows, int64_t count, int64_t channels, float* sums) {
    parallel_for(count, [=](int64_t l) {
      float* to = sums + rows[l] * channels;
      // Fixed trip count, which compilers vectorize.
      for (int64_t c = 0; c < channels; c += 16) {
        for (int64_t i = 0; i < 16; ++i) to[c + i] += products[l * channels + c + i];
      }
    });
  }

  static void sgemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                    const float* b, int64_t ldb, float* c) {
    if (dnnl_sgemm(trans_a, trans_b, m, n, k, 1, a, lda, b, ldb, 0, c, n) != dnnl_success) {
      throw std::runtime_error("dnnl_sgemm failed");
    }
  }

  Sizes sizes_;
  const int32_t* indice_pairs_;
  const int64_t* indice_num_;
  Buffer<float> inputs_, outputs_;
};

}  // namespace mluop::perf
