// The dense layers of a network on all threads.
#pragma once

#include <dnnl.h>

#include <cstdint>
#include <stdexcept>

#include "case/networks/dense_layers.h"
#include "perf/support/measures.h"

namespace mluop::perf {

struct ParallelLoops {
  template <class Body>
  static void for_rows(int64_t rows, const Body& body) {
    const int threads = thread_count();
    parallel(threads, [&](int id) { body(share(rows, threads, id), share(rows, threads, id + 1)); });
  }

  // Uses oneDNN.
  static networks::Matrix product(char transpose_x, char transpose_y, const networks::Matrix& x,
                                  const networks::Matrix& y) {
    const int64_t rows = transpose_x == 'T' ? x.columns : x.rows;
    const int64_t terms = transpose_x == 'T' ? x.rows : x.columns;
    networks::Matrix result(rows, transpose_y == 'T' ? y.rows : y.columns);
    if (dnnl_sgemm(transpose_x, transpose_y, rows, result.columns, terms, 1, x.data(), x.columns, y.data(),
                   y.columns, 0, result.data(), result.columns) != dnnl_success) {
      throw std::runtime_error("dnnl_sgemm failed");
    }
    return result;
  }
};

using ParallelLayers = networks::DenseLayers<ParallelLoops>;

}  // namespace mluop::perf
