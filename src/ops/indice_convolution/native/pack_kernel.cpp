#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/native/pack_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "core/sizes.h"
#include "ops/indice_convolution/native/kernels.h"
#include "ops/indice_convolution/native/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::native {
namespace HWY_NAMESPACE {
template <class T>
void pack(const PackArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t channels = round_up(call.Co, kLanes);
  const int64_t panels = ceil_div(channels, kNr);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t k = item / panels;
    const int64_t channel = item % panels * kNr;
    pack_panel<T>(call, {k, 0, call.Ci, channel, std::min(kNr, call.Co - channel)},
                  args.packed_filters + (k * channels + channel) * call.Ci);
  }
}

MLUOP_SELECT_BY_DTYPE(pack, PackArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pack_kernel, pack, PackArgs);

}  // namespace mluop::indice_convolution::native
#endif
