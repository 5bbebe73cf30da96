// The columns of rows of numbers, as fp32: kernels whose vectors hold rows read consecutive numbers.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/element.h"
#include "team/launch.h"

namespace mluop {

// to[k, row] = from[row, k] for `rows` rows of kColumns numbers.
template <int64_t kColumns>
void split_columns(Context& context, mluOpDataType_t dtype, int64_t rows, const void* from, float* to) {
  struct Args {
    int64_t rows;
    const void* from;
    float* to;
  };
  constexpr auto kRowBytes = static_cast<int64_t>(kColumns * sizeof(float));
  launch<Args>(context, "split", choose_task_dim(rows, rows * kRowBytes), Evenly{rows},
               dispatch_dtype(dtype,
                              [](auto element) -> RangeKernel<Args> {
                                return [](const Args& args, int64_t begin, int64_t end, Task&) {
                                  const auto* const numbers = static_cast<const decltype(element)*>(args.from);
                                  for (int64_t row = begin; row < end; ++row) {
                                    for (int64_t k = 0; k < kColumns; ++k) {
                                      args.to[k * args.rows + row] = to_f32(numbers[row * kColumns + k]);
                                    }
                                  }
                                };
                              }),
               {rows, from, to});
}

}  // namespace mluop
