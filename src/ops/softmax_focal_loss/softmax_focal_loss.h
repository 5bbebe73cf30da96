// What the entries and the kernels of softmax focal loss share. Letters: N rows, C classes.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/launch.h"

namespace mluop::softmax_focal_loss {

struct Args {
  int64_t N, C;
  float alpha, gamma;
  mluOpDataType_t dtype;
  const void* softmax;    // [N, C]
  const int32_t* target;  // [N]: -1 to C - 1
  const void* weight;     // [C]; null: all 1
  void* factors;          // [N]: the losses, or the factors of the gradients
  void* grad_input;       // [N, C]; not written with the losses
  bool is_loss;
};

// Ranges of work items are rows.
RangeKernel<Args> losses_kernel(mluOpDataType_t dtype);
RangeKernel<Args> gradients_kernel(mluOpDataType_t dtype);

}  // namespace mluop::softmax_focal_loss
