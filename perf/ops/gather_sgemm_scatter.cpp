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

}  // namespace

GatherSgemmScatter::GatherSgemmScatter(const Sizes& sizes, int64_t max_pairs)
    : sizes_(sizes), gathered_(max_pairs * sizes.Ci), products_(max_pairs * sizes.Co) {}

void GatherSgemmScatter::run(const float* features, const float* filters, const int32_t* indice_pairs,
                             const int64_t* indice_num, float* features_out) {
  const int64_t Ci = sizes_.Ci, Co = sizes_.Co;
  float *gathered = gathered_.data(), *products = products_.data();
  for_all(sizes_.num_act_out, [=](int64_t row) { std::fill_n(features_out + row * Co, Co, 0.0F); });
  for (int64_t k = 0; k < sizes_.K(); ++k) {
    const int32_t* inputs = indice_pairs + k * 2 * sizes_.num_act_in;
    const int32_t* outputs = inputs + sizes_.num_act_in;
    for_all(indice_num[k], [=](int64_t l) { std::copy_n(features + inputs[l] * Ci, Ci, gathered + l * Ci); });
    if (dnnl_sgemm('N', 'N', indice_num[k], Co, Ci, 1, gathered, Ci, filters + k * Ci * Co, Co, 0, products, Co) !=
        dnnl_success) {
      throw std::runtime_error("dnnl_sgemm failed");
    }
    for_all(indice_num[k], [=](int64_t l) {
      float* sums = features_out + outputs[l] * Co;
      const float* row = products + l * Co;
      // Fixed trip count, which compilers vectorize.
      int64_t c = 0;
      for (; c + 16 <= Co; c += 16) {
        for (int64_t i = 0; i < 16; ++i) sums[c + i] += row[c + i];
      }
      for (; c < Co; ++c) sums[c] += row[c];
    });
  }
}

}  // namespace mluop::perf
