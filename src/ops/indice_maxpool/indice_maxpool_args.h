// Indice max pooling: the arguments of both operators.
//
// Letters: N rows of features, M rows of features_out, C channels, K offsets. Forward pools the inputs of each
// output; backward exchanges the inputs and outputs of the pairs and adds the gradients of the outputs of each
// input.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/index_pairs.h"

namespace mluop::indice_maxpool {

// Arguments are checked, except for the values of indice_pairs. `M` counts the rows of the result.
struct PooledRows : IndexPairs {
  int64_t C;
  mluOpDataType_t dtype;
};

struct ForwardArgs : PooledRows {
  const void* features;  // [N, C]
  void* features_out;    // [M, C]
};

struct BackwardArgs : PooledRows {
  const void* features;      // [M, C]
  const void* features_out;  // [N, C]
  const void* output_grad;   // [N, C]
  void* input_grad;          // [M, C]
};

}  // namespace mluop::indice_maxpool
