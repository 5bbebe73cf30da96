// Sigmoid focal loss: the algorithm and the arguments of a call, forward and backward.
//
// Letters: N rows, C classes.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "team/operator_call.h"

namespace mluop::focal_loss_sigmoid {

// The arguments of the call, checked.
struct Args {
  int64_t count() const { return N * C; }

  int64_t N, C;
  float alpha, gamma;
  mluOpDataType_t dtype;
  const void* input;      // [N, C]
  const int32_t* target;  // [N]: class of a row; values outside [0, C): background
  const void* weight;     // [C]; null: all 1
  void* output;           // [N, C]
};

namespace native {

// Compute the output: the loss, or its derivative. Throw before they write it: Failure with ALLOC_FAILED if a tile
// does not fit NRAM, and std::bad_alloc.
void run_forward(Call& call, const Args& args);
void run_backward(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::focal_loss_sigmoid
