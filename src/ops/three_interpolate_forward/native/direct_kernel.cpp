#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_forward/native/direct_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_interpolate_forward/native/items-inl.h"
#include "ops/three_interpolate_forward/native/kernels.h"
#include "primitives/find_bad_index-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_forward::native {
namespace HWY_NAMESPACE {

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t bad = mluop::HWY_NAMESPACE::find_bad_index(args.call.indices, begin, end, args.call.M);
  if (bad < end) args.first_bad_index.report(bad);
}

HWY_INLINE float to_f32(float value) { return value; }
HWY_INLINE float to_f32(Half value) { return mluop::f16_to_f32(value); }

// Separates the slots of a chunk.
template <class T>
HWY_INLINE void separate(const int32_t* indices, const T* weights, int64_t count, int64_t stride,
                         const DirectTile<T>& tile) {
  for (int64_t n = 0; n < count; ++n) {
    HWY_UNROLL(3) for (int64_t k = 0; k < 3; ++k) {
      tile.indices[k * stride + n] = indices[n * 3 + k];
      tile.weights[k * stride + n] = to_f32(weights[n * 3 + k]);
    }
  }
}

// row[n] = the sums of a channel, for `count` points, rounded up to whole vectors.
template <class T>
HWY_INLINE void interpolate(const T* HWY_RESTRICT features, int64_t count, int64_t stride,
                            const DirectTile<T>& tile) {
  const D d;
  T* HWY_RESTRICT gathered = tile.features;
  for (int64_t k = 0; k < 3; ++k) {
    const int32_t* HWY_RESTRICT indices = tile.indices + k * stride;
    for (int64_t n = 0; n < count; ++n) gathered[k * stride + n] = features[indices[n]];
  }
  const float* weights = tile.weights;
  for (int64_t n = 0; n < count; n += kLanes) {
    const auto product = [&](int64_t k) {
      return hn::Mul(load_f32(d, gathered + k * stride + n), hn::Load(d, weights + k * stride + n));
    };
    store_f32(hn::Add(hn::Add(product(0), product(1)), product(2)), d, tile.row + n);
  }
}

template <class T>
void interpolate_direct(const InterpolateArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const int64_t stride = args.chunk_points;
  const DirectTile<T> tile(task.nram, stride);
  const StreamWriter stream;
  // The vectors of the last points also read the elements past them.
  std::memset(tile.weights, 0, static_cast<size_t>(3 * stride) * sizeof(float));
  std::memset(tile.features, 0, static_cast<size_t>(3 * stride) * sizeof(T));
  for_each_segment<T>(args, begin, end, [&](const Segment<T>& segment) {
    for (int64_t chunk = segment.chunks.begin; chunk < segment.chunks.end; ++chunk) {
      const Range points = points_of(args, chunk);
      const int64_t first_pair = (segment.b * call.N + points.begin) * 3;
      separate(call.indices + first_pair, static_cast<const T*>(call.weights) + first_pair, points.size(), stride,
               tile);
      for (int64_t c = 0; c < segment.channels; ++c) {
        interpolate(segment.features + c * call.M, points.size(), stride, tile);
        write(args, stream, tile.row, points.size(), segment.output + c * call.N + points.begin);
      }
    }
  });
}

RangeKernel<InterpolateArgs> select_direct(mluOpDataType_t dtype) {
  return dispatch_dtype(
      dtype, [](auto element) -> RangeKernel<InterpolateArgs> { return interpolate_direct<decltype(element)>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_forward::native {

HWY_EXPORT(check);
HWY_EXPORT(select_direct);

RangeKernel<CheckArgs> check_kernel() { return MLUOP_DISPATCH(check); }

RangeKernel<InterpolateArgs> direct_kernel(mluOpDataType_t dtype) { return MLUOP_DISPATCH(select_direct)(dtype); }

}  // namespace mluop::three_interpolate_forward::native
#endif
