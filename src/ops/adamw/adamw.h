// What the entry and the kernel of AdamW share.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop::adamw {

// Elements of a work item: tasks share no cache line, unless a tensor begins inside a line.
inline constexpr int64_t kItemElements = 1024;

struct Args {
  int64_t count;
  float *param, *momentum, *velocity;  // [count]
  void* paramh;                        // [count], bfloat16; not written where NaN is removed
  const void* grad;                    // [count]: bfloat16, or float where NaN is removed
  float scale, rate1, rate2;           // the gradient's divisor, 1 - beta1, 1 - beta2
  float lr, bias1, bias2, epsilon;
  float decay;  // lr * weight_decay, or 1 minus this product where NaN is removed
};

// Work items: kItemElements elements each.
RangeKernel<Args> update_kernel();
RangeKernel<Args> update_without_nan_kernel();

}  // namespace mluop::adamw
