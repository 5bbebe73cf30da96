#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_forward/native/packed_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_interpolate_forward/native/items-inl.h"
#include "ops/three_interpolate_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_forward::native {
namespace HWY_NAMESPACE {

// Transposes a square of kLanes channels by kLanes * kPacked<T> features: rows of `stride` elements at `from` to
// rows of kStrip at `to`. Not inlined: in the loop over features, the compiler would keep a multiple of the stride
// for each row in vectors.
template <class T>
HWY_NOINLINE void pack_square(const T* from, int64_t stride, float* to) {
  const D d;
  hn::Vec<D> columns[kLanes];
  load_transposed(d, from, stride, columns);
  HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
    hn::Store(unpack<T, 0>(d, columns[i]), d, to);
    to += kStrip;
    if constexpr (kPacked<T> == 2) {
      hn::Store(unpack<T, 1>(d, columns[i]), d, to);
      to += kStrip;
    }
  }
}

// tile.features[m, c] = the features of a strip. Channels that the strip does not have are zero.
template <class T>
HWY_INLINE void pack(const Segment<T>& segment, int64_t M, const PackedTile<T>& tile) {
  constexpr int64_t kSquare = kLanes * kPacked<T>;
  static_assert(kSquare <= 2 * kStrip);
  const int64_t whole = segment.channels < kStrip ? 0 : M / kSquare * kSquare;
  for (int64_t m = 0; m < whole; m += kSquare) {
    for (int64_t c = 0; c < kStrip; c += kLanes) {
      pack_square(segment.features + c * M + m, M, tile.features + m * kStrip + c);
    }
  }
  for (int64_t m = whole; m < M; m += kSquare) {
    const int64_t count = std::min(kSquare, M - m);
    for (int64_t c = 0; c < segment.channels; ++c) {
      std::memcpy(tile.edge + c * kSquare, segment.features + c * M + m, static_cast<size_t>(count) * sizeof(T));
    }
    for (int64_t c = 0; c < kStrip; c += kLanes) {
      if (count == kSquare) {
        pack_square(tile.edge + c * kSquare, kSquare, tile.features + m * kStrip + c);
        continue;
      }
      // NRAM ends with feature M - 1.
      alignas(64) float square[kSquare * kStrip];
      pack_square(tile.edge + c * kSquare, kSquare, square);
      for (int64_t i = 0; i < count; ++i) {
        hn::Store(hn::Load(D(), square + i * kStrip), D(), tile.features + (m + i) * kStrip + c);
      }
    }
  }
}

// The weights of a chunk as fp32: in place, or converted into `buffer`.
HWY_INLINE const float* f32_weights(const float* from, int64_t, float*) { return from; }
HWY_INLINE const float* f32_weights(const Half* from, int64_t count, float* buffer) {
  const D d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::Store(load_f32(d, from + i), d, buffer + i);
  for (; i < count; ++i) buffer[i] = mluop::f16_to_f32(from[i]);
  return buffer;
}

// points[n, c] = the sums of `count` points and of a strip of channels.
HWY_INLINE void interpolate(const int32_t* indices, const float* weights, int64_t count, const float* features,
                            float* points) {
  const D d;
  for (int64_t n = 0; n < count; ++n, indices += 3, weights += 3, points += kStrip) {
    const float* f0 = features + int64_t{indices[0]} * kStrip;
    const float* f1 = features + int64_t{indices[1]} * kStrip;
    const float* f2 = features + int64_t{indices[2]} * kStrip;
    const auto w0 = hn::Set(d, weights[0]), w1 = hn::Set(d, weights[1]), w2 = hn::Set(d, weights[2]);
    for (int64_t c = 0; c < kStrip; c += kLanes) {
      const auto sum = hn::Add(hn::Mul(hn::Load(d, f0 + c), w0), hn::Mul(hn::Load(d, f1 + c), w1));
      hn::Store(hn::Add(sum, hn::Mul(hn::Load(d, f2 + c), w2)), d, points + c);
    }
  }
}

// rows[c, n] = points[n, c], for kStrip points; rows of `stride` elements.
template <class T>
HWY_NOINLINE void unpack_points(const float* points, T* rows, int64_t stride) {
  const D d;
  for (int64_t n = 0; n < kStrip; n += kLanes) {
    for (int64_t c = 0; c < kStrip; c += kLanes) {
      hn::Vec<D> columns[kLanes];
      load_transposed(d, points + n * kStrip + c, kStrip, columns);
      HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) store_f32(columns[i], d, rows + (c + i) * stride + n);
    }
  }
}

template <class T>
void interpolate_packed(const InterpolateArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const PackedTile<T> tile(task.nram, call.M, args.chunk_points);
  const StreamWriter stream;
  // pack() also reads the rows of channels that a strip does not have.
  std::memset(tile.edge, 0, 2 * kStrip * kStrip * sizeof(T));
  // unpack_points() also reads the points past the last.
  std::memset(tile.points, 0, kStrip * kStrip * sizeof(float));
  for_each_segment<T>(args, begin, end, [&](const Segment<T>& segment) {
    pack(segment, call.M, tile);
    for (int64_t chunk = segment.chunks.begin; chunk < segment.chunks.end; ++chunk) {
      const Range points = points_of(args, chunk);
      const int64_t first_pair = (segment.b * call.N + points.begin) * 3;
      const int32_t* indices = call.indices + first_pair;
      const float* weights =
          f32_weights(static_cast<const T*>(call.weights) + first_pair, points.size() * 3, tile.weights);
      for (int64_t n = 0; n < points.size(); n += kStrip) {
        interpolate(indices + n * 3, weights + n * 3, std::min(kStrip, points.size() - n), tile.features,
                    tile.points);
        unpack_points(tile.points, tile.rows + n, args.chunk_points);
      }
      for (int64_t c = 0; c < segment.channels; ++c) {
        write(args, stream, tile.rows + c * args.chunk_points, points.size(),
              segment.output + c * call.N + points.begin);
      }
    }
  });
}

MLUOP_SELECT_BY_DTYPE(interpolate_packed, InterpolateArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_forward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(packed_kernel, interpolate_packed, InterpolateArgs);

}  // namespace mluop::three_interpolate_forward::native
#endif
