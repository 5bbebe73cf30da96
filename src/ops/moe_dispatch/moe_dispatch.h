// What the entries and the kernels of MoE dispatch share.
#pragma once

#include <cstdint>

#include "team/operator_call.h"

namespace mluop::moe_dispatch {

struct Args {
  // The row of sample i in dispatch; -1 if the sample is skipped.
  int64_t row_of(int64_t i) const {
    const int64_t expert = indices[i], location = locations[i];
    const bool is_inside = 0 <= expert && expert < experts && 0 <= location && location < capacity;
    return is_inside ? expert * capacity + location : -1;
  }

  int64_t samples, capacity, hidden, experts;
  const float* gates;                  // [samples]
  const int32_t *indices, *locations;  // [samples]
  const float *input, *dispatch;       // [samples, hidden], [experts * capacity, hidden]
  float* output;                       // the tensor that the call writes
  const int32_t* last;                 // [experts * capacity]: the last sample of each row that a sample names
  bool stream;                         // use non-temporal stores
};

// Run the loops of the operators. Require that all tensors have elements and that the NRAM is reserved.
void run_forward(Call& call, const Args& args);
void run_backward_gate(Call& call, const Args& args);
void run_backward_data(Call& call, const Args& args);

}  // namespace mluop::moe_dispatch
