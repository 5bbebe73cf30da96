#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution_forward/pack_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/half.h"
#include "core/sizes.h"
#include "ops/indice_convolution_forward/kernels.h"
#include "primitives/multiply-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::kPanel;

HWY_INLINE float widen(float value) { return value; }
HWY_INLINE float widen(Half value) { return to_float(value); }

template <class T>
void pack_panels(const PackArgs& args, int64_t begin, int64_t end) {
  const Args& call = args.call;
  const int64_t channels = round_up(call.Co, kLanes);
  const int64_t panels = ceil_div(channels, kPanel);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t k = item / panels;
    const int64_t channel = item % panels * kPanel;
    const int64_t width = std::min(kPanel, channels - channel);
    const int64_t filled = std::min(kPanel, call.Co - channel);
    const T* from = static_cast<const T*>(call.filters) + k * call.strides.k + channel * call.strides.co;
    float* to = args.packed + (k * channels + channel) * call.Ci;
    for (int64_t ci = 0; ci < call.Ci; ++ci) {
      for (int64_t co = 0; co < filled; ++co) to[co] = widen(from[co * call.strides.co]);
      std::fill(to + filled, to + width, 0.0F);
      from += call.strides.ci;
      to += width;
    }
  }
}

void pack(const PackArgs& args, int64_t begin, int64_t end, Task&) {
  if (args.call.dtype == MLUOP_DTYPE_HALF) {
    pack_panels<Half>(args, begin, end);
  } else {
    pack_panels<float>(args, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution_forward {

HWY_EXPORT(pack);

RangeKernel<PackArgs> pack_kernel() { return HWY_DYNAMIC_DISPATCH(pack); }

}  // namespace mluop::indice_convolution_forward
#endif
