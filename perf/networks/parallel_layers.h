// The dense layers of a network on all threads.
#pragma once

#include <dnnl.h>

#include <cstdint>
#include <stdexcept>

#include "networks/dense_layers.h"
#include "perf/support/parallel.h"

namespace mluop::perf {

struct ParallelLoops {
  template <class Body>
  static void for_rows(int64_t rows, const Body& body) {
    const int threads = thread_count();
    parallel(threads, [&](int id) { body(share(rows, threads, id), share(rows, threads, id + 1)); });
  }

  // Uses oneDNN.
  static test::Matrix product(char transpose_x, char transpose_y, const test::Matrix& x, const test::Matrix& y) {
    const int64_t rows = transpose_x == 'T' ? x.columns : x.rows;
    const int64_t terms = transpose_x == 'T' ? x.rows : x.columns;
    test::Matrix result(rows, transpose_y == 'T' ? y.rows : y.columns);
    if (dnnl_sgemm(transpose_x, transpose_y, rows, result.columns, terms, 1, x.data(), x.columns, y.data(),
                   y.columns, 0, result.data(), result.columns) != dnnl_success) {
      throw std::runtime_error("dnnl_sgemm failed");
    }
    return result;
  }
};

using ParallelLayers = test::DenseLayers<ParallelLoops>;

}  // namespace mluop::perf
