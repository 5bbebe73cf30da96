// The dense layers of a network on all threads.
#pragma once

#include <cstdint>

#include "networks/dense_layers.h"
#include "perf/support/parallel.h"

namespace mluop::perf {

struct ParallelRows {
  template <class Body>
  static void for_rows(int64_t rows, const Body& body) {
    const int threads = thread_count();
    parallel(threads, [&](int id) { body(share(rows, threads, id), share(rows, threads, id + 1)); });
  }
};

// Products are oneDNN's.
struct ParallelLayers : test::DenseLayers<float, ParallelRows> {
  static test::Matrix<float> linear(const test::Matrix<float>& x, const test::Matrix<float>& weights);
  static test::Matrix<float> linear_grad_weights(const test::Matrix<float>& x, const test::Matrix<float>& grad);
  static test::Matrix<float> linear_grad_input(const test::Matrix<float>& grad,
                                               const test::Matrix<float>& weights);
};

}  // namespace mluop::perf
