#include "ops/indice_convolution_forward/device/f32_to_f16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution_forward/device/f32_to_f16.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "primitives/half-inl.h"
#include "primitives/matmul.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::store_f32;

// Work items: rows.
void convert_rows(const F32ToF16Args& args, int64_t begin, int64_t end, Task&) {
  const hn::CappedTag<float, kMaxLanes> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = begin; row < end; ++row) {
    const float* from = args.from + row * args.columns;
    Half* to = args.to + row * args.to_stride;
    int64_t c = 0;
    for (; c + lanes <= args.columns; c += lanes) store_f32(hn::LoadU(d, from + c), d, to + c);
    for (; c < args.columns; ++c) to[c] = mluop::f32_to_f16(from[c]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution_forward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution_forward::device {

HWY_EXPORT(convert_rows);

void f32_to_f16(Context& context, const F32ToF16Args& args) {
  const int64_t bytes = args.rows * args.columns * int64_t{sizeof(float) + sizeof(Half)};
  launch(context, "f32_to_f16", task_dim_of(context, args.rows, bytes), Evenly{args.rows},
         MLUOP_DISPATCH(convert_rows), args);
}

}  // namespace mluop::indice_convolution_forward::device
#endif
