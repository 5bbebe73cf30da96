#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/get_indice_pairs/native/fill_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/get_indice_pairs/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::get_indice_pairs::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// data[0, count) = value. The caller fences non-temporal stores.
HWY_INLINE void fill_elements(int32_t* HWY_RESTRICT data, int64_t count, int32_t value, bool stream) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto values = hn::Set(d, value);
  const auto misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) / sizeof(int32_t)) % lanes;
  const int64_t head = std::min((lanes - misaligned) % lanes, count);
  std::fill_n(data, head, value);
  int64_t i = head;
  if (stream) {
    for (; i + lanes <= count; i += lanes) hn::Stream(values, d, data + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::Store(values, d, data + i);
  }
  std::fill_n(data + i, count - i, value);
}

void fill(const FillArgs& args, int64_t begin, int64_t end, Task&) {
  fill_elements(args.data + begin, end - begin, args.value, false);
}

void pad(const PadArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  for (int64_t row = begin / call.site_count; row * call.site_count < end; ++row) {
    const int64_t row_begin = row * call.site_count;
    const int64_t first = std::max(begin, row_begin + call.indice_num[row / 2]);
    const int64_t last = std::min(end, row_begin + call.site_count);
    if (first < last) fill_elements(call.indice_pairs + first, last - first, -1, args.stream);
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::get_indice_pairs::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::get_indice_pairs::native {

MLUOP_EXPORT_KERNEL(fill_kernel, fill, FillArgs);
MLUOP_EXPORT_KERNEL(pad_kernel, pad, PadArgs);

}  // namespace mluop::get_indice_pairs::native
#endif
