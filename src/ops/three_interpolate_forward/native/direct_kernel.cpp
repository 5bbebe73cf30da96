#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_forward/native/direct_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <type_traits>

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

using Di = hn::RebindToSigned<D>;

// The weights of kLanes points, a vector for each slot.
HWY_INLINE void load_weights(const float* from, hn::Vec<D>& w0, hn::Vec<D>& w1, hn::Vec<D>& w2) {
  hn::LoadInterleaved3(D(), from, w0, w1, w2);
}
HWY_INLINE void load_weights(const Half* from, hn::Vec<D>& w0, hn::Vec<D>& w1, hn::Vec<D>& w2) {
  const D d;
  const hn::Rebind<uint16_t, D> dh;
  hn::Vec<decltype(dh)> h0, h1, h2;
  hn::LoadInterleaved3(dh, reinterpret_cast<const uint16_t*>(from), h0, h1, h2);
  w0 = mluop::HWY_NAMESPACE::f16_to_f32(d, h0);
  w1 = mluop::HWY_NAMESPACE::f16_to_f32(d, h1);
  w2 = mluop::HWY_NAMESPACE::f16_to_f32(d, h2);
}

// Separates the slots of a chunk.
template <class T>
HWY_INLINE void separate(const int32_t* indices, const T* weights, int64_t count, int64_t stride,
                         const DirectTile<T>& tile) {
  const D d;
  const Di di;
  int64_t n = 0;
  for (; n + kLanes <= count; n += kLanes) {
    hn::Vec<Di> i0, i1, i2;
    hn::LoadInterleaved3(di, indices + n * 3, i0, i1, i2);
    hn::Store(i0, di, tile.indices + n);
    hn::Store(i1, di, tile.indices + stride + n);
    hn::Store(i2, di, tile.indices + 2 * stride + n);
    hn::Vec<D> w0, w1, w2;
    load_weights(weights + n * 3, w0, w1, w2);
    hn::Store(w0, d, tile.weights + n);
    hn::Store(w1, d, tile.weights + stride + n);
    hn::Store(w2, d, tile.weights + 2 * stride + n);
  }
  for (; n < count; ++n) {
    for (int64_t k = 0; k < 3; ++k) {
      tile.indices[k * stride + n] = indices[n * 3 + k];
      tile.weights[k * stride + n] = to_f32(weights[n * 3 + k]);
    }
  }
}

// Whether the target loads a vector of elements by their indices. On x86 the better target has the lower number.
template <class T>
constexpr bool kHasGather = HWY_ARCH_X86&& HWY_TARGET <= HWY_AVX2&& std::is_same_v<T, float>;

// row[n] = the sums of a channel, for `count` points, rounded up to whole vectors.
template <class T>
HWY_INLINE void interpolate(const T* HWY_RESTRICT features, int64_t count, int64_t stride,
                            const DirectTile<T>& tile) {
  const D d;
  if constexpr (!kHasGather<T>) {
    for (int64_t k = 0; k < 3; ++k) {
      const int32_t* HWY_RESTRICT indices = tile.indices + k * stride;
      T* HWY_RESTRICT gathered = tile.features + k * stride;
      for (int64_t n = 0; n < count; ++n) gathered[n] = features[indices[n]];
    }
  }
  for (int64_t n = 0; n < count; n += kLanes) {
    const auto product = [&](int64_t slot) {
      const hn::Vec<D> weights = hn::Load(d, tile.weights + slot + n);
      if constexpr (kHasGather<T>) {
        return hn::Mul(hn::GatherIndex(d, features, hn::Load(Di(), tile.indices + slot + n)), weights);
      } else {
        return hn::Mul(load_f32(d, tile.features + slot + n), weights);
      }
    };
    store_f32(hn::Add(hn::Add(product(0), product(stride)), product(2 * stride)), d, tile.row + n);
  }
}

template <class T>
void interpolate_direct(const InterpolateArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const int64_t stride = args.chunk_points;
  const DirectTile<T> tile(task.nram, stride);
  const StreamWriter stream;
  // The vectors of the last points also read the elements past them.
  std::fill_n(tile.indices, 3 * stride, 0);
  std::fill_n(tile.weights, 3 * stride, 0.0F);
  std::fill_n(tile.features, 3 * stride, T{});
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

MLUOP_SELECT_BY_DTYPE(interpolate_direct, InterpolateArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_forward::native {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);

MLUOP_EXPORT_KERNEL_OF_DTYPE(direct_kernel, interpolate_direct, InterpolateArgs);

}  // namespace mluop::three_interpolate_forward::native
#endif
