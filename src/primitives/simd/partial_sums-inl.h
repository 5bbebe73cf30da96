// The totals of partial sums. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_PARTIAL_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_PARTIAL_SUMS_INL_H
#undef MLUOP_PRIMITIVES_PARTIAL_SUMS_INL_H
#else
#define MLUOP_PRIMITIVES_PARTIAL_SUMS_INL_H
#endif

#include <hwy/highway.h>

#include "primitives/simd/partial_sums.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PartialSumTag = hn::CappedTag<float, kPartialSums>;
constexpr auto kPartialSumLanes = static_cast<int64_t>(hn::MaxLanes(PartialSumTag()));

// sums[0, kPartialSums) = the partial sums of `count` terms; vector_of(d, i): the terms from i on; number_of(i):
// term i.
template <class VectorOf, class NumberOf>
HWY_INLINE void sum_terms(int64_t count, const VectorOf& vector_of, const NumberOf& number_of, float* sums) {
  const PartialSumTag d;
  constexpr int64_t kVectors = kPartialSums / kPartialSumLanes;
  hn::Vec<PartialSumTag> sum[kVectors];
  HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kPartialSums <= count; i += kPartialSums) {
    HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) {
      sum[v] = hn::Add(sum[v], vector_of(d, i + v * kPartialSumLanes));
    }
  }
  HWY_UNROLL(16) for (int64_t v = 0; v < kVectors; ++v) hn::Store(sum[v], d, sums + v * kPartialSumLanes);
  for (; i < count; ++i) sums[i % kPartialSums] += number_of(i);
}

// to[0, kPartialSumLanes) = the totals of as many rows.
HWY_INLINE void add_partial_sums(const float* rows, float* to) {
  const PartialSumTag d;
  hn::Vec<PartialSumTag> columns[kPartialSums];
  HWY_UNROLL(16) for (int64_t i = 0; i < kPartialSums; i += kPartialSumLanes) {
    load_transposed(d, rows + i, kPartialSums, columns + i);
  }
  HWY_UNROLL(4) for (int64_t half = kPartialSums / 2; half > 0; half /= 2) {
    HWY_UNROLL(8) for (int64_t i = 0; i < half; ++i) columns[i] = hn::Add(columns[i], columns[i + half]);
  }
  hn::StoreU(columns[0], d, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
