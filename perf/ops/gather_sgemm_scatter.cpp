#include "perf/ops/gather_sgemm_scatter.h"

#include <dnnl.h>

#include <algorithm>
#include <stdexcept>

#include "perf/support/parallel.h"

namespace mluop::perf {
namespace {

// Calls body(i) for each i in [0, count), divided over the threads.
template <class Body>
void for_all(int64_t count, const Body& body) {
  const int threads = thread_count();
  parallel(threads, [&](int id) {
    const int64_t end = share(count, threads, id + 1);
    for (int64_t i = share(count, threads, id); i < end; ++i) body(i);
  });
}

void set_zero(float* rows, int64_t count, int64_t channels) {
  for_all(count, [=](int64_t row) { std::fill_n(rows + row * channels, channels, 0.0F); });
}

// The rows of `from` that `rows` names.
void gather(const float* from, const int32_t* rows, int64_t count, int64_t channels, float* to) {
  for_all(count, [=](int64_t l) { std::copy_n(from + rows[l] * channels, channels, to + l * channels); });
}

void scatter(const float* products, const int32_t* rows, int64_t count, int64_t channels, float* sums) {
  for_all(count, [=](int64_t l) {
    float* to = sums + rows[l] * channels;
    // Fixed trip count, which compilers vectorize.
    for (int64_t c = 0; c < channels; c += 16) {
      for (int64_t i = 0; i < 16; ++i) to[c + i] += products[l * channels + c + i];
    }
  });
}

void sgemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
           const float* b, int64_t ldb, float* c) {
  if (dnnl_sgemm(trans_a, trans_b, m, n, k, 1, a, lda, b, ldb, 0, c, n) != dnnl_success) {
    throw std::runtime_error("dnnl_sgemm failed");
  }
}

}  // namespace

GatherSgemmScatter::GatherSgemmScatter(const Sizes& sizes, const int32_t* indice_pairs, const int64_t* indice_num,
                                       int64_t max_pairs)
    : sizes_(sizes),
      indice_pairs_(indice_pairs),
      indice_num_(indice_num),
      inputs_(max_pairs * sizes.Ci),
      outputs_(max_pairs * sizes.Co) {}

void GatherSgemmScatter::forward(const float* features, const float* filters, float* features_out) {
  const int64_t Ci = sizes_.Ci, Co = sizes_.Co;
  set_zero(features_out, sizes_.num_act_out, Co);
  for (int64_t k = 0; k < sizes_.K(); ++k) {
    const int64_t n = indice_num_[k];
    gather(features, rows_in(k), n, Ci, inputs_.data());
    sgemm('N', 'N', n, Co, Ci, inputs_.data(), Ci, filters + k * Ci * Co, Co, outputs_.data());
    scatter(outputs_.data(), rows_out(k), n, Co, features_out);
  }
}

void GatherSgemmScatter::backward_data(const float* output_grad, const float* filters, float* input_grad) {
  const int64_t Ci = sizes_.Ci, Co = sizes_.Co;
  set_zero(input_grad, sizes_.num_act_in, Ci);
  for (int64_t k = 0; k < sizes_.K(); ++k) {
    const int64_t n = indice_num_[k];
    gather(output_grad, rows_out(k), n, Co, outputs_.data());
    sgemm('N', 'T', n, Ci, Co, outputs_.data(), Co, filters + k * Ci * Co, Co, inputs_.data());
    scatter(inputs_.data(), rows_in(k), n, Ci, input_grad);
  }
}

void GatherSgemmScatter::backward_filter(const float* features, const float* output_grad, float* filters_grad) {
  const int64_t Ci = sizes_.Ci, Co = sizes_.Co;
  for (int64_t k = 0; k < sizes_.K(); ++k) {
    const int64_t n = indice_num_[k];
    if (n == 0) {
      std::fill_n(filters_grad + k * Ci * Co, Ci * Co, 0.0F);
      continue;
    }
    gather(output_grad, rows_out(k), n, Co, outputs_.data());
    gather(features, rows_in(k), n, Ci, inputs_.data());
    sgemm('T', 'N', Ci, Co, n, inputs_.data(), Ci, outputs_.data(), Co, filters_grad + k * Ci * Co);
  }
}

}  // namespace mluop::perf
