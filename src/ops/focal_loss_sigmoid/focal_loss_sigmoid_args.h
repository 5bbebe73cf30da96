// Sigmoid focal loss: the arguments of a call, forward and backward.
//
// Letters: N rows, C classes.
#pragma once

#include <cstdint>

#include "core/dtype.h"

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

}  // namespace mluop::focal_loss_sigmoid
