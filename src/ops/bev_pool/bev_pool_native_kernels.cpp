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
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/partial_sums-inl.h"
#include "primitives/simd/select_items-inl.h"
#include "primitives/sort/bucket_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::bev_pool::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_partial_sums;
using mluop::HWY_NAMESPACE::kPartialSumLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::RowSums;
using mluop::HWY_NAMESPACE::select_items;
using mluop::HWY_NAMESPACE::sum_terms;

// Points tested for selection at a time.
constexpr int64_t kBlock = 256;

// Calls visit(p) for the points of [begin, end) that satisfy is_selected(d, p), see select_items().
template <class IsSelected, class Visit>
HWY_INLINE void for_each_selected(int64_t begin, int64_t end, const IsSelected& is_selected, const Visit& visit) {
  int32_t points[kBlock];
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t count = select_items(first, std::min(first + kBlock, end), is_selected, points);
    for (int64_t i = 0; i < count; ++i) visit(points[i]);
  }
}

// The mask of the numbers in [first, last]; both bounds are non-negative and may exceed int32_t.
template <class D>
HWY_INLINE hn::Mask<D> are_within(D d, hn::Vec<D> numbers, int64_t first, int64_t last) {
  const auto set = [&](int64_t number)
                       HWY_ATTR { return hn::Set(d, static_cast<int32_t>(std::min(number, int64_t{INT32_MAX}))); };
  return hn::AndNot(hn::Gt(numbers, set(last)), hn::Gt(numbers, set(first - 1)));
}

// Selects points that are not skipped.
struct IsKept {
  template <class D>
  HWY_INLINE hn::Mask<D> operator()(D d, int64_t p) const {
    return hn::Ne(hn::LoadU(d, cells + p), hn::Set(d, kSkipped));
  }

  const int32_t* cells;
};

void count_points(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto counter = args.sorted.counter(task.taskId);
  const IsKept is_kept{args.ranks_bev};
  const auto is_bad = [&](auto d, int64_t p) HWY_ATTR {
    const auto is_below = [&](const int32_t* numbers, int64_t limit)
                              HWY_ATTR { return are_within(d, hn::LoadU(d, numbers + p), 0, limit - 1); };
    const auto is_valid = hn::And(is_below(args.ranks_bev, args.M),
                                  hn::And(is_below(args.ranks_feat, args.F), is_below(args.ranks_depth, args.D)));
    return hn::AndNot(is_valid, is_kept(d, p));
  };
  int32_t bad[kBlock];
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t last = std::min(first + kBlock, end);
    if (select_items(first, last, is_bad, bad) > 0) return args.first_bad.report(bad[0]);
    for_each_selected(first, last, is_kept, [&](int64_t p) { counter.count(args.keys[p]); });
  }
}

// T, here and below: an element type.
template <class T>
void sort_points(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto placer = args.sorted.placer(task.taskId);
  const T* const depth = static_cast<const T*>(args.depth);
  for_each_selected(begin, end, IsKept{args.ranks_bev}, [&](int32_t p) {
    placer.place(args.keys[p], {args.values[p], to_f32(depth[args.ranks_depth[p]]), p});
  });
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
  // Totals are computed for whole vectors of points.
  alignas(64) float partial_sums[kPartialSumLanes * kPartialSums] = {};
  alignas(64) float totals[kPartialSumLanes];
  const RowSums<T, WeightedRow> sums(sorted.elements, sorted.element_count(), gradients, C);
  for (int64_t row = begin; row < end; ++row) {
    const Range points{sorted.starts[row], sorted.starts[row + 1]};
    sums.sum(points, {0, C}, static_cast<T*>(args.grad_features) + row * C);
    const T* const features = static_cast<const T*>(args.features) + row * C;
    for (int64_t first = points.begin; first < points.end; first += kPartialSumLanes) {
      const int64_t count = std::min(kPartialSumLanes, points.end - first);
      for (int64_t i = 0; i < count; ++i) {
        multiply_rows(gradients + sorted.elements[first + i].row * C, features, C,
                      partial_sums + i * kPartialSums);
      }
      add_partial_sums(partial_sums, totals);
      for (int64_t i = 0; i < count; ++i) args.products.of_points[sorted.elements[first + i].element] = totals[i];
    }
  }
}

// Writes the gradients of the elements [begin, end) of depth: the sums that add(sums) adds to zeros.
template <class T, class Add>
HWY_INLINE void write_sums(const AddArgs& args, int64_t begin, int64_t end, const Add& add) {
  T* const to = static_cast<T*>(args.grad_depth);
  float* sums = args.products.sums;
  if constexpr (std::is_same_v<T, float>) sums = to;
  std::fill(sums + begin, sums + end, 0.0F);
  add(sums);
  if constexpr (!std::is_same_v<T, float>) round_row(sums + begin, end - begin, to + begin);
}

template <class T>
void add_products(const AddArgs& args, int64_t begin, int64_t end, Task&) {
  const IsKept is_kept{args.ranks_bev};
  const auto is_own = [&](auto d, int64_t p) HWY_ATTR {
    const auto element = hn::LoadU(d, args.ranks_depth + p);
    return hn::And(are_within(d, element, begin, end - 1), is_kept(d, p));
  };
  write_sums<T>(args, begin, end, [&](float* sums) HWY_ATTR {
    for_each_selected(0, args.P, is_own,
                      [&](int64_t p) { sums[args.ranks_depth[p]] += args.products.of_points[p]; });
  });
}

void count_products(const SortedAddArgs& args, int64_t begin, int64_t end, Task& task) {
  args.sorted.sort.clear_counts(task.taskId);
  int32_t* const counts = args.sorted.sort.counts_of(task.taskId);
  for_each_selected(begin, end, IsKept{args.ranks_bev},
                    [&](int64_t p) { ++counts[args.ranks_depth[p] / args.range]; });
}

void sort_products(const SortedAddArgs& args, int64_t begin, int64_t end, Task& task) {
  int32_t* const positions = args.sorted.sort.positions_of(task.taskId);
  for_each_selected(begin, end, IsKept{args.ranks_bev}, [&](int64_t p) {
    const int32_t element = args.ranks_depth[p];
    args.sorted.products[positions[element / args.range]++] = {element, args.products.of_points[p]};
  });
}

template <class T>
void add_sorted_products(const SortedAddArgs& args, int64_t begin, int64_t end, Task&) {
  const int32_t* const starts = args.sorted.sort.starts;
  write_sums<T>(args, begin * args.range, std::min(end * args.range, args.D), [&](float* sums) {
    for (int32_t i = starts[begin]; i < starts[end]; ++i) {
      const auto [element, product] = args.sorted.products[i];
      sums[element] += product;
    }
  });
}

MLUOP_SELECT_BY_DTYPE(sort_points, SortArgs);
MLUOP_SELECT_BY_DTYPE(differentiate, DifferentiateArgs);
MLUOP_SELECT_BY_DTYPE(add_products, AddArgs);
MLUOP_SELECT_BY_DTYPE(add_sorted_products, SortedAddArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::bev_pool::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::bev_pool::native {

MLUOP_EXPORT_KERNEL(count_kernel, count_points, SortArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(sort_kernel, sort_points, SortArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(differentiate_kernel, differentiate, DifferentiateArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_products_kernel, add_products, AddArgs);
MLUOP_EXPORT_KERNEL(count_products_kernel, count_products, SortedAddArgs);
MLUOP_EXPORT_KERNEL(sort_products_kernel, sort_products, SortedAddArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_sorted_products_kernel, add_sorted_products, SortedAddArgs);

}  // namespace mluop::bev_pool::native
#endif
