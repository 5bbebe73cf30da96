#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_nn_forward/three_nn_forward_native_compare_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_nn_forward/best-inl.h"
#include "ops/three_nn_forward/three_nn_forward_native_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_nn_forward::native {
namespace HWY_NAMESPACE {

template <class T>
void convert(const ConvertArgs& args, int64_t begin, int64_t end, Task&) {
  mluop::HWY_NAMESPACE::load_row(static_cast<const T*>(args.known) + begin, end - begin, args.known_f32 + begin);
}

MLUOP_SELECT_BY_DTYPE(convert, ConvertArgs);

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
void compare(const CompareArgs& args, int64_t begin, int64_t end, Task&) {
  const D d;
  for (int64_t query = begin; query < end;) {
    const int64_t b = query / args.N;
    const int64_t count = std::min({kLanes, (b + 1) * args.N - query, end - query});
    const T* unknown = static_cast<const T*>(args.unknown) + query * 3;
    const float* known = args.known_f32 + b * args.M * 3;
    Best<T, Order::kByIndex> best;
    best.insert_all(
        load_queries(unknown, count), args.M,
        [=](int64_t m) {
          const float* point = known + m * 3;
          return Vector3{hn::Set(d, point[0]), hn::Set(d, point[1]), hn::Set(d, point[2])};
        },
        [](int64_t m) { return static_cast<int32_t>(m); });
    best.store(
        count, [=](int64_t i) { return query + i; }, static_cast<T*>(args.dist2), args.idx);
    query += count;
  }
}

MLUOP_SELECT_BY_DTYPE(compare, CompareArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_nn_forward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(convert_kernel, convert, ConvertArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(compare_kernel, compare, CompareArgs);

}  // namespace mluop::three_nn_forward::native
#endif
