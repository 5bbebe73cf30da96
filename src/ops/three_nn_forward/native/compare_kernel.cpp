#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_nn_forward/native/compare_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_nn_forward/native/distance-inl.h"
#include "ops/three_nn_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_nn_forward::native {
namespace HWY_NAMESPACE {

using Di = hn::RebindToSigned<D>;
using Vi = hn::Vec<Di>;

void convert(const ConvertArgs& args, int64_t begin, int64_t end, Task&) {
  const D d;
  const auto* from = static_cast<const Half*>(args.call.known);
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    hn::StoreU(mluop::HWY_NAMESPACE::load_f32(d, from + i), d, args.known + i);
  for (; i < end; ++i) args.known[i] = mluop::f16_to_f32(from[i]);
}

// The best neighbors of a vector of queries. Candidates come in ascending order of their indices.
class Best {
 public:
  HWY_INLINE Best() {
    for (V& distance : distances_) distance = hn::Set(D(), std::numeric_limits<float>::infinity());
    for (Vi& index : indices_) index = hn::Zero(Di());
  }

  HWY_INLINE hn::Mask<D> admits(V distance) const { return hn::Lt(distance, distances_[2]); }

  HWY_INLINE void insert(V distance, int32_t candidate) {
    const Vi index = hn::Set(Di(), candidate);
    const auto first = hn::Lt(distance, distances_[0]), second = hn::Lt(distance, distances_[1]),
               third = hn::Lt(distance, distances_[2]);
    distances_[2] = hn::IfThenElse(second, distances_[1], hn::IfThenElse(third, distance, distances_[2]));
    distances_[1] = hn::IfThenElse(first, distances_[0], hn::IfThenElse(second, distance, distances_[1]));
    distances_[0] = hn::IfThenElse(first, distance, distances_[0]);
    const Di di;
    const auto first_i = hn::RebindMask(di, first), second_i = hn::RebindMask(di, second),
               third_i = hn::RebindMask(di, third);
    indices_[2] = hn::IfThenElse(second_i, indices_[1], hn::IfThenElse(third_i, index, indices_[2]));
    indices_[1] = hn::IfThenElse(first_i, indices_[0], hn::IfThenElse(second_i, index, indices_[1]));
    indices_[0] = hn::IfThenElse(first_i, index, indices_[0]);
  }

  // Writes those of the first `count` queries.
  template <class T>
  HWY_INLINE void store(int64_t count, T* dist2, int32_t* idx) const {
    alignas(64) float distances[kNeighbors][kWidth];
    alignas(64) int32_t indices[kNeighbors][kWidth];
    for (int64_t k = 0; k < kNeighbors; ++k) {
      hn::Store(distances_[k], D(), distances[k]);
      hn::Store(indices_[k], Di(), indices[k]);
    }
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < kNeighbors; ++k) {
        store_distance(distances[k][i], dist2 + i * kNeighbors + k);
        idx[i * kNeighbors + k] = indices[k][i];
      }
    }
  }

 private:
  V distances_[kNeighbors];
  Vi indices_[kNeighbors];
};

template <class T>
HWY_INLINE Vector3 load_queries(const T* from, int64_t count) {
  alignas(64) float coordinates[3][kWidth] = {};
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t dim = 0; dim < 3; ++dim) coordinates[dim][i] = to_f32(from[i * 3 + dim]);
  }
  const D d;
  return {hn::Load(d, coordinates[0]), hn::Load(d, coordinates[1]), hn::Load(d, coordinates[2])};
}

template <class T>
HWY_INLINE V distance_to(const Vector3& queries, const float* known) {
  const D d;
  return squared_distance<T>(queries, {hn::Set(d, known[0]), hn::Set(d, known[1]), hn::Set(d, known[2])});
}

// `count` queries at most kLanes, with M known points.
template <class T>
HWY_INLINE void compare_with_all(const T* unknown, int64_t count, const float* known, int64_t M, T* dist2,
                                 int32_t* idx) {
  // Points that are compared before a branch.
  constexpr int64_t kUnroll = 4;
  const D d;
  const Vector3 queries = load_queries(unknown, count);
  Best best;
  int64_t m = 0;
  for (; m + kUnroll <= M; m += kUnroll, known += 3 * kUnroll) {
    const V distances[kUnroll] = {distance_to<T>(queries, known), distance_to<T>(queries, known + 3),
                                  distance_to<T>(queries, known + 6), distance_to<T>(queries, known + 9)};
    const auto admitted = hn::Or(hn::Or(best.admits(distances[0]), best.admits(distances[1])),
                                 hn::Or(best.admits(distances[2]), best.admits(distances[3])));
    if (HWY_LIKELY(hn::AllFalse(d, admitted))) continue;
    HWY_UNROLL(4) for (int64_t i = 0; i < kUnroll; ++i) best.insert(distances[i], static_cast<int32_t>(m + i));
  }
  for (; m < M; ++m, known += 3) best.insert(distance_to<T>(queries, known), static_cast<int32_t>(m));
  best.store(count, dist2, idx);
}

template <class T>
void compare(const CompareArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  for (int64_t query = begin; query < end;) {
    const int64_t b = query / call.N;
    const int64_t count = std::min({kLanes, (b + 1) * call.N - query, end - query});
    compare_with_all(static_cast<const T*>(call.unknown) + query * 3, count, args.known + b * call.M * 3, call.M,
                     static_cast<T*>(call.dist2) + query * kNeighbors, call.idx + query * kNeighbors);
    query += count;
  }
}

RangeKernel<CompareArgs> select_compare(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype,
                        [](auto element) -> RangeKernel<CompareArgs> { return compare<decltype(element)>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_nn_forward::native {

HWY_EXPORT(convert);
HWY_EXPORT(select_compare);

RangeKernel<ConvertArgs> convert_kernel() { return MLUOP_DISPATCH(convert); }

RangeKernel<CompareArgs> compare_kernel(mluOpDataType_t dtype) { return MLUOP_DISPATCH(select_compare)(dtype); }

}  // namespace mluop::three_nn_forward::native
#endif
