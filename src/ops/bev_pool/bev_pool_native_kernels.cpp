#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/bev_pool/bev_pool_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/bev_pool/bev_pool_native_kernels.h"
#include "primitives/elements-inl.h"
#include "primitives/for_each_vector-inl.h"
#include "primitives/partial_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::bev_pool::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_partial_sums;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::kPartialSumLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::sum_terms;

// to[0, kVectors * lanes) = the sum of the weighted rows of points [begin, end), which begin at `from`. T, here
// and below: an element type.
template <int kVectors, class D, class T>
HWY_INLINE void sum_vectors(D d, const SortedPoints& sorted, int64_t begin, int64_t end, const T* from, int64_t C,
                            T* to) {
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  hn::Vec<D> sums[kVectors];
  HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (int64_t i = begin; i < end; ++i) {
    const T* const row = from + sorted.rows[i] * C;
    const auto weight = hn::Set(d, sorted.weights[i]);
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::Add(sums[v], hn::Mul(weight, load_f32(d, row + v * lanes)));
    }
  }
  HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) store_f32(sums[v], d, to + v * lanes);
}

// to[0, C) = the sum of the weighted rows of the points of row `result`. The matrix that is read begins at `from`.
template <class T>
HWY_INLINE void sum_rows(const SortedPoints& sorted, int64_t result, const T* from, int64_t C, T* to) {
  const hn::CappedTag<float, 16> whole;
  constexpr int kVectors = 4;
  constexpr auto channels = static_cast<int64_t>(kVectors * hn::MaxLanes(whole));
  const int64_t begin = sorted.sort.starts[result], end = sorted.sort.starts[result + 1];
  int64_t c = 0;
  for (; c + channels <= C; c += channels) sum_vectors<kVectors>(whole, sorted, begin, end, from + c, C, to + c);
  const auto sum_rest = [&](auto d, int64_t i)
                            HWY_ATTR { sum_vectors<1>(d, sorted, begin, end, from + i, C, to + i); };
  for_each_vector(C, sum_rest, c);
}

template <class T>
void pool(const PoolArgs& args, int64_t begin, int64_t end, Task&) {
  const T* const features = static_cast<const T*>(args.features);
  for (int64_t cell = begin; cell < end; ++cell) {
    sum_rows(args.sorted, cell, features, args.C, static_cast<T*>(args.output) + cell * args.C);
  }
}

// sums[0, kPartialSums) = the partial sums of a[c] * b[c].
template <class T>
HWY_INLINE void multiply_rows(const T* a, const T* b, int64_t C, float* sums) {
  sum_terms(
      C, [&](auto d, int64_t c) HWY_ATTR { return hn::Mul(load_f32(d, a + c), load_f32(d, b + c)); },
      [&](int64_t c) { return to_f32(a[c]) * to_f32(b[c]); }, sums);
}

template <class T>
void differentiate(const DifferentiateArgs& args, int64_t begin, int64_t end, Task&) {
  const SortedPoints& sorted = args.sorted;
  const int64_t C = args.C;
  const T* const gradients = static_cast<const T*>(args.grad_output);
  // Totals are those of whole vectors of points.
  alignas(64) float partial_sums[kPartialSumLanes * kPartialSums] = {};
  alignas(64) float totals[kPartialSumLanes];
  for (int64_t row = begin; row < end; ++row) {
    sum_rows(sorted, row, gradients, C, static_cast<T*>(args.grad_features) + row * C);
    const T* const features = static_cast<const T*>(args.features) + row * C;
    const int64_t last = sorted.sort.starts[row + 1];
    for (int64_t first = sorted.sort.starts[row]; first < last; first += kPartialSumLanes) {
      const int64_t count = std::min(kPartialSumLanes, last - first);
      for (int64_t i = 0; i < count; ++i) {
        multiply_rows(gradients + sorted.rows[first + i] * C, features, C, partial_sums + i * kPartialSums);
      }
      add_partial_sums(partial_sums, totals);
      for (int64_t i = 0; i < count; ++i) args.products.of_points[args.products.points[first + i]] = totals[i];
    }
  }
}

template <class T>
void add_products(const AddArgs& args, int64_t begin, int64_t end, Task&) {
  T* const to = static_cast<T*>(args.grad_depth);
  float* sums = args.products.sums;
  if constexpr (std::is_same_v<T, float>) sums = to;
  std::fill(sums + begin, sums + end, 0.0F);
  for (int64_t p = 0; p < args.P; ++p) {
    const int64_t element = args.ranks_depth[p];
    if (element < begin || element >= end || args.ranks_bev[p] == kSkipped) continue;
    sums[element] += args.products.of_points[p];
  }
  if constexpr (!std::is_same_v<T, float>) round_row(sums + begin, end - begin, to + begin);
}

MLUOP_SELECT_BY_DTYPE(pool, PoolArgs);
MLUOP_SELECT_BY_DTYPE(differentiate, DifferentiateArgs);
MLUOP_SELECT_BY_DTYPE(add_products, AddArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::bev_pool::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::bev_pool::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_kernel, pool, PoolArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(differentiate_kernel, differentiate, DifferentiateArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_products_kernel, add_products, AddArgs);

}  // namespace mluop::bev_pool::native
#endif
