#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/three_interpolate_backward_device_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_device_kernels.h"
#include "primitives/indices/find_bad_index-inl.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/transpose_square-inl.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::find_bad_index;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_f32;

void check(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  const CheckTile tile(task.nram);
  for (int64_t first = begin; first < end; first += CheckTile::kIndices) {
    const int64_t count = std::min(CheckTile::kIndices, end - first);
    load(task, tile.indices, args.indices + first, count * int64_t{sizeof(int32_t)});
    ++task.statistics->tiles;
    const int64_t bad = find_bad_index(tile.indices, 0, count, args.M);
    if (bad == count) continue;
    args.first_bad_index.report(first + bad);
    return;
  }
}

using D = hn::CappedTag<float, 16>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Points of a square of kLanes channels that is transposed in registers.
template <class T>
constexpr int64_t kSquarePoints{kLanes * kPacked<T>};

// A tile of a work item: the channels [c, c + channels) of the points [n, n + points) of batch b.
struct TileRange {
  int64_t b, c, channels, n, points;
};

// The channels [c, c + width) of a tile, in whole vectors; `channels` of them are in the tensor. The buffers of
// points and sums are strips of rows of `width`, consecutive in NRAM, so that a strip stays in L1. A strip of few
// channels is not transposed, because vectors would be mostly padding. The additions to an element have the same
// order in every strip.
struct Strip {
  static constexpr int64_t kChannels = 64;
  static constexpr int64_t kMaxUntransposed = 4;

  Strip(const TileRange& range, int64_t first)
      : c(first), channels(std::min(kChannels, range.channels - first)), width(round_up(channels, kLanes)) {}

  bool transposed() const { return channels > kMaxUntransposed; }

  template <class T>
  T* points(const Tile<T>& tile, const Tiling& tiling) const {
    return tile.points + c * tiling.No;
  }
  template <class T>
  float* sums(const Tile<T>& tile, const Tiling& tiling) const {
    return tile.sums + c * (tiling.Mo + 1);
  }

  int64_t c, channels, width;
};

template <class Visit>
HWY_INLINE void for_each_strip(const TileRange& range, const Visit& visit) {
  for (int64_t c = 0; c < range.channels; c += Strip::kChannels) visit(Strip(range, c));
}

// Distance between the sums of consecutive channels in a strip that is not transposed.
HWY_INLINE int64_t untransposed_stride(const Tiling& tiling) { return tiling.Mo + kLanes; }

template <class T>
HWY_INLINE void clear_sums(const Tile<T>& tile, const Tiling& tiling, const Strip& strip) {
  const int64_t count =
      strip.transposed() ? (tiling.Mo + 1) * strip.width : strip.channels * untransposed_stride(tiling);
  std::fill_n(strip.sums(tile, tiling), count, 0.0F);
}

template <class T>
HWY_INLINE void load_pairs(const Args& args, const Tile<T>& tile, const TileRange& range, Task& task) {
  const int64_t first = (range.b * args.N + range.n) * 3;
  const int64_t count = range.points * 3;
  load(task, tile.indices, args.indices + first, count * int64_t{sizeof(int32_t)});
  load(task, tile.weights, static_cast<const T*>(args.weights) + first, count * int64_t{sizeof(T)});
}

template <class T>
HWY_INLINE void transpose_pairs(const Tile<T>& tile, int64_t No, int64_t points) {
  for (int64_t n = 0; n < points; ++n) {
    for (int64_t slot = 0; slot < 3; ++slot) {
      tile.slot_indices[slot * No + n] = tile.indices[n * 3 + slot];
      tile.slot_weights[slot * No + n] = tile.weights[n * 3 + slot];
    }
  }
}

// Point n of the first row of a strip of grad_output.
template <class T>
HWY_INLINE const T* gradients(const Args& args, const TileRange& range, int64_t n, int64_t strip_c) {
  return static_cast<const T*>(args.grad_output) + (range.b * args.C + range.c + strip_c) * args.N + n;
}

template <class T>
HWY_INLINE void load_strip(const InterpolateArgs& args, const Tile<T>& tile, const TileRange& range,
                           const Strip& strip, Task& task) {
  const Tiling& tiling = args.tiling;
  constexpr auto kBytes = int64_t{sizeof(T)};
  load_rows(task, tile.grad_output + strip.c * tiling.No, tiling.No * kBytes,
            gradients<T>(args, range, range.n, strip.c), args.N * kBytes, range.points * kBytes, strip.channels);
}

// Prefetches the rows of a strip for the next tiles, kBytes of a row at a time, which was measured to be faster
// than the short rows of one tile at a time. Strips take turns.
template <class T>
HWY_INLINE void prefetch_next(const InterpolateArgs& args, const TileRange& range, const Strip& strip) {
  const Tiling& tiling = args.tiling;
  constexpr int64_t kBytes = 1024;
  const int64_t tiles = std::max<int64_t>(kBytes / (tiling.No * int64_t{sizeof(T)}), 1);
  const int64_t n = range.n + tiling.No;
  if (n >= args.N || (range.n / tiling.No + strip.c / Strip::kChannels) % tiles != 0) return;
  const int64_t row_bytes = std::min(tiles * tiling.No, args.N - n) * int64_t{sizeof(T)};
  const T* from = gradients<T>(args, range, n, strip.c);
  for (int64_t c = 0; c < strip.channels; ++c) prefetch_row<Use::kRead>(from + c * args.N, row_bytes);
}

HWY_INLINE void store_column(hn::Vec<D> column, float* to, int64_t) { hn::Store(column, D(), to); }
template <Element16 T>
HWY_INLINE void store_column(hn::Vec<D> column, T* to, int64_t stride) {
  const hn::Rebind<uint16_t, D> d16;
  const auto lanes = hn::BitCast(hn::RebindToUnsigned<D>(), column);
  const auto low = hn::And(lanes, hn::Set(hn::RebindToUnsigned<D>(), 0xFFFFU));
  hn::StoreU(hn::TruncateTo(d16, low), d16, reinterpret_cast<uint16_t*>(to));
  hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(lanes)), d16, reinterpret_cast<uint16_t*>(to + stride));
}

// Transposes a strip of grad_output. The document multiplies by the weights of a slot before transposing, once for
// each slot; transposing first gives the same products with one transposition.
template <class T>
HWY_INLINE void transpose_points(const Tile<T>& tile, const Tiling& tiling, const Strip& strip, int64_t points) {
  const D d;
  const T* from = tile.grad_output + strip.c * tiling.No;
  for (int64_t n = 0; n < points; n += kSquarePoints<T>) {
    for (int64_t c = 0; c < strip.width; c += kLanes) {
      hn::Vec<D> columns[kLanes];
      load_transposed(d, from + c * tiling.No + n, tiling.No, columns);
      T* to = strip.points(tile, tiling) + n * strip.width + c;
      HWY_UNROLL(16) for (int64_t j = 0; j < kLanes; ++j) {
        store_column(columns[j], to + j * kPacked<T> * strip.width, strip.width);
      }
    }
  }
}

// Sets local_rows and local_weights for a slot: indices outside [m0, m0 + Mo) get weight 0 and the spare row.
template <class T>
HWY_INLINE void select_rows(const Tile<T>& tile, const Tiling& tiling, int64_t slot, int64_t m0, int64_t points) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const bool any = m0 <= std::numeric_limits<int32_t>::max();
  const auto first = hn::Set(du, any ? static_cast<uint32_t>(m0) : 0U);
  const auto count = hn::Set(du, any ? static_cast<uint32_t>(tiling.Mo) : 0U);
  const auto spare = hn::Set(du, static_cast<uint32_t>(tiling.Mo));
  const int32_t* indices = tile.slot_indices + slot * tiling.No;
  const T* weights = tile.slot_weights + slot * tiling.No;
  for (int64_t n = 0; n < points; n += kLanes) {
    const auto local = hn::Sub(hn::BitCast(du, hn::Load(di, indices + n)), first);
    const auto inside = hn::Lt(local, count);
    hn::Store(hn::BitCast(di, hn::IfThenElse(inside, local, spare)), di, tile.local_rows + n);
    hn::Store(hn::IfThenElseZero(hn::RebindMask(d, inside), load_f32(d, weights + n)), d, tile.local_weights + n);
  }
}

// sums[row of n] += points[n] * weight of n, for each point of a transposed strip. kWidth: the width of the strip,
// or 0 for any width.
template <int64_t kWidth, class T>
HWY_INLINE void add_slot(const Tile<T>& tile, const Tiling& tiling, const Strip& strip, int64_t points) {
  const D d;
  const int64_t width = kWidth != 0 ? kWidth : strip.width;
  const T* strip_points = strip.points(tile, tiling);
  float* strip_sums = strip.sums(tile, tiling);
  for (int64_t n = 0; n < points; ++n) {
    float* HWY_RESTRICT sum = strip_sums + tile.local_rows[n] * width;
    const T* HWY_RESTRICT point = strip_points + n * width;
    const auto weight = hn::Set(d, tile.local_weights[n]);
    HWY_UNROLL(16) for (int64_t c = 0; c < width; c += kLanes) {
      hn::Store(hn::Add(hn::Load(d, sum + c), hn::Mul(load_f32(d, point + c), weight)), d, sum + c);
    }
  }
}

// sums[c, row of n] += grad_output[c, n] * weight of n, for each channel and point.
template <class T>
HWY_INLINE void add_slot_untransposed(const Tile<T>& tile, const Tiling& tiling, const Strip& strip,
                                      int64_t points) {
  const D d;
  auto* HWY_RESTRICT products = reinterpret_cast<float*>(strip.points(tile, tiling));
  for (int64_t c = 0; c < strip.channels; ++c) {
    const T* gradients = tile.grad_output + (strip.c + c) * tiling.No;
    for (int64_t n = 0; n < points; n += kLanes) {
      hn::Store(hn::Mul(load_f32(d, gradients + n), hn::Load(d, tile.local_weights + n)), d, products + n);
    }
    float* HWY_RESTRICT sums = strip.sums(tile, tiling) + c * untransposed_stride(tiling);
    for (int64_t n = 0; n < points; ++n) sums[tile.local_rows[n]] += products[n];
  }
}

// Loads and adds a tile of points, one strip of channels at a time; the document loads the whole tile first. The
// outer loop runs over slots, the inner loop over points.
template <class T>
HWY_INLINE void add_tile(const InterpolateArgs& args, const Tile<T>& tile, const TileRange& range, int64_t m0,
                         Task& task) {
  const Tiling& tiling = args.tiling;
  load_pairs(args, tile, range, task);
  transpose_pairs(tile, tiling.No, range.points);
  for_each_strip(range, [&](const Strip& strip) {
    load_strip(args, tile, range, strip, task);
    prefetch_next<T>(args, range, strip);
    if (strip.transposed()) transpose_points(tile, tiling, strip, range.points);
    for (int64_t slot = 0; slot < 3; ++slot) {
      select_rows(tile, tiling, slot, m0, range.points);
      if (!strip.transposed()) {
        add_slot_untransposed(tile, tiling, strip, range.points);
      } else if (strip.width == Strip::kChannels) {
        add_slot<Strip::kChannels>(tile, tiling, strip, range.points);
      } else {
        add_slot<0>(tile, tiling, strip, range.points);
      }
    }
  });
  ++task.statistics->tiles;
}

// Writes the sums of the features [first, first + count) to `rows`, channel by channel.
template <class T>
HWY_INLINE void write_rows(const Tile<T>& tile, const Tiling& tiling, const Strip& strip, int64_t first,
                           int64_t count) {
  const D d;
  if (!strip.transposed()) {
    for (int64_t c = 0; c < strip.channels; ++c) {
      const float* sums = strip.sums(tile, tiling) + c * untransposed_stride(tiling) + first;
      T* row = tile.rows + (strip.c + c) * tile.row_features;
      for (int64_t m = 0; m < count; m += kLanes) store_f32(hn::Load(d, sums + m), d, row + m);
    }
    return;
  }
  for (int64_t m = 0; m < count; m += kLanes) {
    const float* sums = strip.sums(tile, tiling) + (first + m) * strip.width;
    for (int64_t c = 0; c < strip.width; c += kLanes) {
      hn::Vec<D> columns[kLanes];
      load_transposed(d, sums + c, strip.width, columns);
      HWY_UNROLL(16) for (int64_t j = 0; j < kLanes; ++j) {
        store_f32(columns[j], d, tile.rows + (strip.c + c + j) * tile.row_features + m);
      }
    }
  }
}

// Stores the sums of the features [m0, m0 + features).
template <class T>
HWY_INLINE void store_sums(const InterpolateArgs& args, const Tile<T>& tile, const TileRange& range, int64_t m0,
                           int64_t features, Task& task) {
  const Tiling& tiling = args.tiling;
  constexpr auto kBytes = int64_t{sizeof(T)};
  T* to = static_cast<T*>(args.grad_features) + (range.b * args.C + range.c) * args.M + m0;
  for (int64_t first = 0; first < features; first += tile.row_features) {
    const int64_t count = std::min(tile.row_features, features - first);
    for_each_strip(range, [&](const Strip& strip) { write_rows(tile, tiling, strip, first, count); });
    store_rows(task, to + first, args.M * kBytes, tile.rows, tile.row_features * kBytes, count * kBytes,
               range.channels);
  }
}

template <class T>
void interpolate(const InterpolateArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tiling& tiling = args.tiling;
  const Tile<T> tile(task.nram, tiling);
  const int64_t feature_tiles = tiling.feature_tiles(args);
  // Elements past the last channel or point are computed but not stored; NaN or subnormals in them would be slow.
  std::fill_n(tile.grad_output, tiling.Co * tiling.No, T{});
  std::fill_n(tile.slot_indices, 3 * tiling.No, 0);
  std::fill_n(tile.slot_weights, 3 * tiling.No, T{});
  for (int64_t item = begin; item < end; ++item) {
    const int64_t m0 = item % feature_tiles * tiling.Mo;
    const int64_t features = std::min(tiling.Mo, args.M - m0);
    for (int64_t c = 0; c < args.C; c += tiling.Co) {
      TileRange range{item / feature_tiles, c, std::min(tiling.Co, args.C - c), 0, 0};
      for_each_strip(range, [&](const Strip& strip) { clear_sums(tile, tiling, strip); });
      for (; range.n < args.N; range.n += tiling.No) {
        range.points = std::min(tiling.No, args.N - range.n);
        add_tile(args, tile, range, m0, task);
      }
      store_sums(args, tile, range, m0, features, task);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(interpolate, InterpolateArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward::device {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(interpolate_kernel, interpolate, InterpolateArgs);

}  // namespace mluop::three_interpolate_backward::device
#endif
