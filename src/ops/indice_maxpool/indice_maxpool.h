// Indice max pooling: the algorithm and the arguments of both operators.
//
// Letters: N rows of features, M rows of features_out, C channels, K offsets. Forward pools the inputs of each
// output; backward exchanges the inputs and outputs of the pairs and adds the gradients of the outputs of each
// input.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/indices/index_pairs.h"
#include "team/operator_call.h"

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

namespace native {

// Compute the result. Throw before they write it: Failure with BAD_PARAM if an index is out of bounds, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace native
}  // namespace mluop::indice_maxpool
