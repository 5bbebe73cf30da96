#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/backward_filter/combine_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/half.h"
#include "core/simd.h"
#include "ops/indice_convolution/backward_filter/kernels.h"
#include "primitives/gemm_microkernel-inl.h"
#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::backward_filter {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::PanelTag;
using mluop::HWY_NAMESPACE::store_f32;

// out[0, count) = the sum of `terms` rows of partials, `stride` elements apart, in their order.
template <class T>
void add_rows(const float* partials, int64_t terms, int64_t stride, int64_t count, T* out) {
  const PanelTag d;
  constexpr int kVectors = 8;
  int64_t i = 0;
  for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
    hn::Vec<PanelTag> sums[kVectors];
    const float* from = partials + i;
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, from + v * kLanes);
    for (int64_t t = 1; t < terms; ++t) {
      from += stride;
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sums[v] = hn::Add(sums[v], hn::LoadU(d, from + v * kLanes));
    }
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) store_f32(sums[v], d, out + i + v * kLanes);
  }
  for (; i < count; ++i) {
    float sum = partials[i];
    for (int64_t t = 1; t < terms; ++t) sum += partials[t * stride + i];
    round_to(sum, out + i);
  }
}

template <class T>
void combine(const CombineArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t elements = call.matrix_count();
  const int64_t blocks = ceil_div(elements, kCombinedElements);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t k = item / blocks;
    const int64_t first = item % blocks * kCombinedElements;
    const int64_t count = std::min(kCombinedElements, elements - first);
    const int64_t terms = args.segments.division.segments_of(call.indice_num[k]);
    T* const out = static_cast<T*>(call.filters_grad) + k * elements + first;
    if (terms == 0) {
      std::memset(static_cast<void*>(out), 0, static_cast<size_t>(count) * sizeof(T));
    } else if (terms > 1) {
      add_rows(args.partials + args.segments.first_partials[k] * elements + first, terms, elements, count, out);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(combine, CombineArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::backward_filter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::backward_filter {

MLUOP_EXPORT_KERNEL_OF_DTYPE(combine_kernel, combine, CombineArgs);

}  // namespace mluop::indice_convolution::backward_filter
#endif
