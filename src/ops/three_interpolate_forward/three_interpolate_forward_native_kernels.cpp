#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_forward/three_interpolate_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_interpolate_forward/three_interpolate_forward_native_kernels.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/channel_strip-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::transpose_sums;
using mluop::HWY_NAMESPACE::unpack;

using D = mluop::HWY_NAMESPACE::StripTag;
using Di = hn::RebindToSigned<D>;
constexpr int64_t kLanes = mluop::HWY_NAMESPACE::kStripLanes;

// A strip of channels and consecutive chunks of its points, with their operands. T: an element type.
template <class T>
struct Segment {
  const T* features;  // [channels, M]
  T* output;          // [channels, N]
  int64_t b, channels;
  Range chunks;
};

// Calls visit(segment) for the work items [begin, end).
template <class T, class Visit>
HWY_INLINE void for_each_segment(const InterpolateArgs& args, int64_t begin, int64_t end, const Visit& visit) {
  const int64_t chunks = args.chunk_count();
  for (int64_t item = begin; item < end;) {
    const int64_t strip = item / chunks;
    const int64_t strip_end = std::min(end, (strip + 1) * chunks);
    const int64_t b = strip / strip_count(args);
    const int64_t first_channel = strip % strip_count(args) * kStrip;
    const int64_t row = b * args.C + first_channel;
    visit(Segment<T>{static_cast<const T*>(args.features) + row * args.M,
                     static_cast<T*>(args.output) + row * args.N,
                     b,
                     std::min(kStrip, args.C - first_channel),
                     {item - strip * chunks, strip_end - strip * chunks}});
    item = strip_end;
  }
}

// The points of a chunk.
HWY_INLINE Range points_of(const InterpolateArgs& args, int64_t chunk) {
  return {chunk * args.chunk_points, std::min((chunk + 1) * args.chunk_points, args.N)};
}

// Copies elements to the output.
template <class T>
HWY_INLINE void write(const InterpolateArgs& args, const StreamWriter& stream, const T* from, int64_t count,
                      T* to) {
  if (args.stream) {
    stream.copy(to, from, static_cast<size_t>(count));
  } else {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  }
}

// Transposes a square of kLanes channels by kLanes * kPacked<T> features: from rows of `stride` elements at `from`
// to rows of kStrip at `to`. Not inlined: in the loop over features, the compiler would keep a multiple of the
// stride for each row in vectors.
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

// Transposes half a square: kLanes features of 16 bits.
template <Element16 T>
HWY_NOINLINE void pack_half_square(const T* from, int64_t stride, float* to) {
  const D d;
  alignas(kCacheLine) float square[kLanes * kLanes];
  for (int64_t i = 0; i < kLanes; ++i) hn::Store(load_f32(d, from + i * stride), d, square + i * kLanes);
  hn::Vec<D> columns[kLanes];
  load_transposed(d, square, kLanes, columns);
  HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) hn::Store(columns[i], d, to + i * kStrip);
}

// tile.features[m, c] = the features of a strip; missing channels are zero.
template <class T>
HWY_INLINE void pack(const Segment<T>& segment, int64_t M, const PackedTile<T>& tile) {
  constexpr int64_t kSquare = kLanes * kPacked<T>;
  static_assert(kSquare <= 2 * kStrip);
  int64_t whole = segment.channels < kStrip ? 0 : M / kSquare * kSquare;
  for (int64_t m = 0; m < whole; m += kSquare) {
    for (int64_t c = 0; c < kStrip; c += kLanes) {
      pack_square(segment.features + c * M + m, M, tile.features + m * kStrip + c);
    }
  }
  if constexpr (Element16<T>) {
    if (segment.channels == kStrip && M - whole >= kLanes) {
      for (int64_t c = 0; c < kStrip; c += kLanes) {
        pack_half_square(segment.features + c * M + whole, M, tile.features + whole * kStrip + c);
      }
      whole += kLanes;
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

// points[n, c] = the sums of `count` points for a strip of channels.
HWY_INLINE void sum_points(const int32_t* indices, const float* weights, int64_t count, const float* features,
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

template <class T>
void interpolate_packed(const InterpolateArgs& args, int64_t begin, int64_t end, Task& task) {
  const PackedTile<T> tile(task.nram, args.M, args.chunk_points);
  const StreamWriter stream;
  // pack() also reads rows past the channels of a strip.
  std::memset(tile.edge, 0, 2 * kStrip * kStrip * sizeof(T));
  // transpose_sums() also reads the points past the last.
  std::memset(tile.points, 0, kSquarePoints * kStrip * sizeof(float));
  for_each_segment<T>(args, begin, end, [&](const Segment<T>& segment) {
    pack(segment, args.M, tile);
    for (int64_t chunk = segment.chunks.begin; chunk < segment.chunks.end; ++chunk) {
      const Range points = points_of(args, chunk);
      const int64_t first_pair = (segment.b * args.N + points.begin) * 3;
      const int32_t* indices = args.indices + first_pair;
      const float* weights = mluop::HWY_NAMESPACE::load_row_in_place(
          static_cast<const T*>(args.weights) + first_pair, points.size() * 3, tile.weights);
      for (int64_t n = 0; n < points.size(); n += kSquarePoints) {
        sum_points(indices + n * 3, weights + n * 3, std::min(kSquarePoints, points.size() - n), tile.features,
                   tile.points);
        transpose_sums<false>(tile.points, kStrip, kSquarePoints, tile.rows + n, args.chunk_points);
      }
      for (int64_t c = 0; c < segment.channels; ++c) {
        write(args, stream, tile.rows + c * args.chunk_points, points.size(),
              segment.output + c * args.N + points.begin);
      }
    }
  });
}

MLUOP_SELECT_BY_DTYPE(interpolate_packed, InterpolateArgs);

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
    mluop::HWY_NAMESPACE::load_interleaved_f32(d, weights + n * 3, w0, w1, w2);
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

// Whether the target has gather instructions. On x86 the better target has the lower number.
template <class T>
constexpr bool kHasGather = HWY_ARCH_X86&& HWY_TARGET <= HWY_AVX2&& std::is_same_v<T, float>;

// row[n] = the sums of a channel for `count` points, rounded up to whole vectors.
template <class T>
HWY_INLINE void sum_row(const T* HWY_RESTRICT features, int64_t count, int64_t stride, const DirectTile<T>& tile) {
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
      const int64_t first_pair = (segment.b * args.N + points.begin) * 3;
      separate(args.indices + first_pair, static_cast<const T*>(args.weights) + first_pair, points.size(), stride,
               tile);
      for (int64_t c = 0; c < segment.channels; ++c) {
        sum_row(segment.features + c * args.M, points.size(), stride, tile);
        write(args, stream, tile.row, points.size(), segment.output + c * args.N + points.begin);
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

MLUOP_EXPORT_KERNEL_OF_DTYPE(packed_kernel, interpolate_packed, InterpolateArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(direct_kernel, interpolate_direct, InterpolateArgs);

}  // namespace mluop::three_interpolate_forward::native
#endif
