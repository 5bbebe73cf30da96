#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/indice_convolution/pack_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/half.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/gemm_microkernel-inl.h"
#include "primitives/indice_convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::kNr;

HWY_INLINE float as_f32(float value) { return value; }
HWY_INLINE float as_f32(Half value) { return mluop::f16_to_f32(value); }

template <class T>
void pack(const PackArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t channels = round_up(call.Co, kLanes);
  const int64_t panels = ceil_div(channels, kNr);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t k = item / panels;
    const int64_t channel = item % panels * kNr;
    const int64_t width = std::min(kNr, channels - channel);
    const int64_t filled = std::min(kNr, call.Co - channel);
    const T* from = static_cast<const T*>(call.filters) + k * call.strides.k + channel * call.strides.co;
    float* to = args.packed_filters + (k * channels + channel) * call.Ci;
    for (int64_t ci = 0; ci < call.Ci; ++ci) {
      for (int64_t co = 0; co < filled; ++co) to[co] = as_f32(from[co * call.strides.co]);
      std::fill(to + filled, to + width, 0.0F);
      from += call.strides.ci;
      to += width;
    }
  }
}

RangeKernel<PackArgs> pack_for(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<PackArgs> { return pack<decltype(element)>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution {

HWY_EXPORT(pack_for);

RangeKernel<PackArgs> pack_kernel(mluOpDataType_t dtype) { return MLUOP_DISPATCH(pack_for)(dtype); }

}  // namespace mluop::indice_convolution
#endif
