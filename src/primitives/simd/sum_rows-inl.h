// Copies of rows, and sums of rows of partial sums. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_PRIMITIVES_SUM_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_SUM_ROWS_INL_H
#undef MLUOP_PRIMITIVES_SUM_ROWS_INL_H
#else
#define MLUOP_PRIMITIVES_SUM_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "core/element.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[0, width) = from[0, count) in fp32, followed by zeros.
template <class T>
HWY_INLINE void copy_row(const T* from, int64_t count, int64_t width, float* to) {
  load_row(from, count, to);
  for (int64_t i = count; i < width; ++i) to[i] = 0;
}

// The same without conversion.
template <Element16 T>
HWY_INLINE void copy_row(const T* from, int64_t count, int64_t width, T* to) {
  std::fill(std::copy_n(from, count, to), to + width, T{});
}

// out[0, count) = the sum of `terms` rows of partial sums, `stride` elements apart, in order.
template <class T>
void add_rows(const float* partials, int64_t terms, int64_t stride, int64_t count, T* out) {
  const PanelTag d;
  constexpr int kVectors = 8;
  int64_t i = 0;
  for (; i + kVectors * kPanelLanes <= count; i += kVectors * kPanelLanes) {
    hn::Vec<PanelTag> sums[kVectors];
    const float* from = partials + i;
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, from + v * kPanelLanes);
    for (int64_t t = 1; t < terms; ++t) {
      from += stride;
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sums[v] = hn::Add(sums[v], hn::LoadU(d, from + v * kPanelLanes));
    }
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) store_f32(sums[v], d, out + i + v * kPanelLanes);
  }
  for (; i < count; ++i) {
    float sum = partials[i];
    for (int64_t t = 1; t < terms; ++t) sum += partials[t * stride + i];
    round_to(sum, out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
