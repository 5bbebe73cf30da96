// f32_to_f16: rounds the elements of a matrix from fp32 to half, to nearest even.
#pragma once

#include <cstdint>

#include "core/half.h"
#include "team/launch.h"

namespace mluop::indice_convolution_forward::device {

struct F32ToF16Args {
  int64_t rows, columns;
  const float* from;  // [rows, columns]
  Half* to;           // rows of `columns` elements at a distance of `to_stride`
  int64_t to_stride;
};

// Divides the rows over tasks.
void f32_to_f16(Context& context, const F32ToF16Args& args);

}  // namespace mluop::indice_convolution_forward::device
