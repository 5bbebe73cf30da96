#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gather_points_forward/gather_points_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/simd.h"
#include "ops/gather_points_forward/gather_points_forward_native_kernels.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::gather_points_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_halves;
using mluop::HWY_NAMESPACE::load_transposed_blocks;
using mluop::HWY_NAMESPACE::load_transposed_rows;
using mluop::HWY_NAMESPACE::StreamWriter;

// Vectors of at most kStrip lanes.
template <int64_t kStrip>
using Tag = hn::CappedTag<float, size_t{kStrip}>;
template <int64_t kStrip>
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Tag<kStrip>()));

// A chunk of the points of a batch.
struct PointChunk {
  PointChunk(const GatherArgs& args, int64_t b, int64_t chunk)
      : first(chunk * args.chunk_points),
        count(std::min(args.chunk_points, args.M - first)),
        indices(args.indices + b * args.M + first) {}

  int64_t first, count;
  const int32_t* indices;  // [count]
};

// to[0, count) = the kHalf-th half of each lane.
template <int kHalf, bool kStream>
HWY_INLINE void copy_halves(const StreamWriter& stream, const float* lanes, int64_t count, uint16_t* to) {
  const hn::CappedTag<uint16_t, kLineChannels<Half>> d;
  const auto* from = reinterpret_cast<const uint16_t*>(lanes);
  constexpr auto kHalves = static_cast<int64_t>(hn::MaxLanes(d));
  const auto into_vector = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / sizeof(uint16_t)) % kHalves;
  const int64_t head = std::min((kHalves - into_vector) % kHalves, count);
  int64_t i = 0;
  for (; i < head; ++i) to[i] = from[2 * i + kHalf];
  for (; i + kHalves <= count; i += kHalves) {
    stream.write<kStream>(load_halves<kHalf>(d, from + 2 * i), d, to + i);
  }
  for (; i < count; ++i) to[i] = from[2 * i + kHalf];
}

// Writes `channels` rows of the output, M elements apart, from rows of lanes; floats with non-temporal stores.
template <int64_t kStrip>
HWY_INLINE void write_rows(const GatherArgs& args, const StreamWriter& stream, const float* lanes, int64_t count,
                           int64_t channels, float* to) {
  for (int64_t c = 0; c < channels; ++c) {
    stream.copy(to + c * args.M, lanes + c * args.chunk_points, static_cast<size_t>(count));
  }
}
template <int64_t kStrip>
HWY_INLINE void write_rows(const GatherArgs& args, const StreamWriter& stream, const float* lanes, int64_t count,
                           int64_t channels, Half* to) {
  const auto copy_lower = args.stream ? copy_halves<0, true> : copy_halves<0, false>;
  const auto copy_upper = args.stream ? copy_halves<1, true> : copy_halves<1, false>;
  for (int64_t c = 0; c < channels; ++c) {
    const auto copy = c < kStrip ? copy_lower : copy_upper;
    copy(stream, lanes + c % kStrip * args.chunk_points, count, reinterpret_cast<uint16_t*>(to + c * args.M));
  }
}

// Transposes kLanes channels (their rows are at `rows`) by kLanes features, from feature n on, to rows of kStrip
// lanes at `to`. Not inlined: in the loop over features, the compiler would keep the rows in vectors.
template <int64_t kStrip>
HWY_NOINLINE void pack_square(const float* const* rows, int64_t n, float* to) {
  constexpr int64_t kSquare = kLanes<kStrip>;
  const Tag<kStrip> d;
  hn::Vec<Tag<kStrip>> columns[kSquare];
  load_transposed_rows(
      d, [=](int64_t i) { return rows[i] + n; }, columns);
  HWY_UNROLL(16) for (int64_t i = 0; i < kSquare; ++i) hn::Store(columns[i], d, to + i * kStrip);
}

// The same for 2 kLanes features, with channels c and c + kStrip in each lane.
template <int64_t kStrip>
HWY_NOINLINE void pack_square(const Half* const* rows, int64_t n, float* to) {
  constexpr int64_t kSquare = kLanes<kStrip>;
  const Tag<kStrip> d;
  const hn::RebindToUnsigned<Tag<kStrip>> du;
  hn::Vec<Tag<kStrip>> lower[kSquare], upper[kSquare];
  load_transposed_rows(
      d, [=](int64_t i) { return rows[i] + n; }, lower);
  load_transposed_rows(
      d, [=](int64_t i) { return rows[kStrip + i] + n; }, upper);
  const auto low_half = hn::Set(du, 0xFFFFU);
  HWY_UNROLL(16) for (int64_t i = 0; i < kSquare; ++i) {
    // Two features of a channel each.
    const auto c0 = hn::BitCast(du, lower[i]), c1 = hn::BitCast(du, upper[i]);
    hn::Store(hn::BitCast(d, hn::Or(hn::And(c0, low_half), hn::ShiftLeft<16>(c1))), d, to);
    hn::Store(hn::BitCast(d, hn::Or(hn::ShiftRight<16>(c0), hn::AndNot(low_half, c1))), d, to + kStrip);
    to += 2 * kStrip;
  }
}

// tile.features[n] = the channels of feature n; `from`: rows of N elements. Missing channels of a strip are copies
// of its last channel.
template <int64_t kStrip, class T>
HWY_INLINE void pack(const T* from, int64_t N, int64_t channels, const PackedTile<T>& tile) {
  constexpr int64_t kSquare = kLanes<kStrip> * kPacked<T>;
  static_assert(kSquare <= PackedTile<T>::kMaxSquare);
  const T* source = from;
  int64_t stride = N;
  if (N < kSquare) {
    source = tile.edge;
    stride = kSquare;
    for (int64_t c = 0; c < channels; ++c) {
      std::memcpy(tile.edge + c * kSquare, from + c * N, static_cast<size_t>(N) * sizeof(T));
    }
  }
  constexpr int64_t kChannels = kStrip * kPacked<T>;
  const T* rows[kChannels];
  for (int64_t c = 0; c < kChannels; ++c) rows[c] = source + std::min(c, channels - 1) * stride;
  for (int64_t n = 0; n < N; n += kSquare) {
    // The last square overlaps the square before it.
    const int64_t first = std::max(std::min(n, N - kSquare), int64_t{0});
    for (int64_t lane = 0; lane < kStrip; lane += kLanes<kStrip>) {
      pack_square<kStrip>(rows + lane, first, tile.features + first * kStrip + lane);
    }
  }
}

// rows[lane, i] = this lane of feature indices[i], for kBlockPoints points and the first `lanes` lanes (kStrip if
// kAll); rows have `stride` lanes.
template <int64_t kStrip, bool kAll>
HWY_NOINLINE void gather_block(const float* features, const int32_t* indices, int64_t lanes, float* rows,
                               int64_t stride) {
  // With four lanes no square is needed: each vector holds as many points as possible.
  const std::conditional_t<kStrip == 4, Tag<kBlockPoints>, Tag<kStrip>> d;
  constexpr auto kPoints = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr int64_t kColumns = std::min(kStrip, kPoints);
  for (int64_t i = 0; i < kBlockPoints; i += kPoints) {
    for (int64_t lane = 0; lane < kStrip; lane += kColumns) {
      hn::Vec<decltype(d)> columns[kColumns];
      const auto row_of = [=](int64_t row) { return features + int64_t{indices[i + row]} * kStrip + lane; };
      if constexpr (kColumns == 4) {
        load_transposed_blocks(d, row_of, columns);
      } else {
        load_transposed_rows(d, row_of, columns);
      }
      HWY_UNROLL(16) for (int64_t j = 0; j < kColumns; ++j) {
        if (kAll || lane + j < lanes) hn::StoreU(columns[j], d, rows + (lane + j) * stride + i);
      }
    }
  }
}

// rows[lane, i] = this lane of point i of a chunk, for the first `lanes` lanes; rows have `stride` lanes.
template <int64_t kStrip>
HWY_INLINE void gather_rows(const PointChunk& chunk, const float* features, int64_t lanes, float* rows,
                            int64_t stride) {
  const auto gather = lanes == kStrip ? gather_block<kStrip, true> : gather_block<kStrip, false>;
  int64_t i = 0;
  for (; i + kBlockPoints <= chunk.count; i += kBlockPoints) {
    gather(features, chunk.indices + i, lanes, rows + i, stride);
  }
  if (i == chunk.count) return;
  // The last block is filled with feature 0.
  int32_t last[kBlockPoints] = {};
  std::copy(chunk.indices + i, chunk.indices + chunk.count, last);
  float block[kStrip * kBlockPoints];
  gather(features, last, lanes, block, kBlockPoints);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    std::copy_n(block + lane * kBlockPoints, chunk.count - i, rows + lane * stride + i);
  }
}

// Writes the points of a chunk to `channels` rows of the output. Floats that are not streamed are written directly
// from the transposition, which is faster than through a tile.
template <int64_t kStrip, class T>
HWY_INLINE void gather_chunk(const GatherArgs& args, const PointChunk& chunk, const PackedTile<T>& tile,
                             int64_t channels, const StreamWriter& stream, T* to) {
  if constexpr (std::is_same_v<T, float>) {
    if (!args.stream) return gather_rows<kStrip>(chunk, tile.features, channels, to, args.M);
  }
  gather_rows<kStrip>(chunk, tile.features, kStrip, tile.rows, args.chunk_points);
  write_rows<kStrip>(args, stream, tile.rows, chunk.count, channels, to);
}

template <int64_t kStrip, class T>
HWY_INLINE void gather_strips(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kChannels = kStrip * kPacked<T>;
  const PackedTile<T> tile(task.nram, args.N, kStrip, args.chunk_points);
  const StreamWriter stream;
  // pack() also reads elements past an incomplete square.
  std::fill_n(tile.edge, kChannels * PackedTile<T>::kMaxSquare, T{});
  const int64_t chunks = args.chunk_count(), strips = strip_count(args);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / chunks / strips;
    const int64_t first_channel = item / chunks % strips * kChannels;
    const int64_t channels = std::min(kChannels, args.C - first_channel);
    const int64_t row = b * args.C + first_channel;
    if (item == begin || item % chunks == 0) {
      pack<kStrip>(static_cast<const T*>(args.features) + row * args.N, args.N, channels, tile);
    }
    const PointChunk chunk(args, b, item % chunks);
    T* to = static_cast<T*>(args.output) + row * args.M + chunk.first;
    gather_chunk<kStrip>(args, chunk, tile, channels, stream, to);
  }
}

template <class T>
void packed(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  switch (strip_lanes(args)) {
    case 4: return gather_strips<4, T>(args, begin, end, task);
    case 8: return gather_strips<8, T>(args, begin, end, task);
    default: return gather_strips<16, T>(args, begin, end, task);
  }
}

MLUOP_SELECT_BY_SIZE(packed, GatherArgs);

// Whether the target has gather instructions. On x86 the better target has the lower number.
template <class T>
constexpr bool kHasGather = HWY_ARCH_X86&& HWY_TARGET <= HWY_AVX2&& std::is_same_v<T, float>;

// row[i] = features[indices[i]]
template <class T>
HWY_INLINE void gather_row(const T* HWY_RESTRICT features, const int32_t* indices, int64_t count,
                           T* HWY_RESTRICT row) {
  int64_t i = 0;
  if constexpr (kHasGather<T>) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= count; i += lanes) {
      const auto at = hn::LoadU(hn::RebindToSigned<decltype(d)>(), indices + i);
      hn::StoreU(hn::GatherIndex(d, features, at), d, row + i);
    }
  }
  for (; i < count; ++i) row[i] = features[indices[i]];
}

// Prefetches a share of the row of features after `row`; the chunks of a row divide it evenly.
template <class T>
HWY_INLINE void prefetch_next_row(const GatherArgs& args, int64_t row, int64_t chunk) {
  if (row + 1 == args.B * args.C) return;
  const T* next = static_cast<const T*>(args.features) + (row + 1) * args.N;
  const int64_t share = ceil_div(args.N, args.chunk_count());
  const int64_t last = std::min((chunk + 1) * share, args.N);
  for (int64_t n = chunk * share; n < last; n += kLineChannels<T>) __builtin_prefetch(next + n);
}

template <class T>
void direct(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const DirectTile<T> tile(task.nram, args.chunk_points);
  const StreamWriter stream;
  const int64_t chunks = args.chunk_count();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t row = item / chunks;
    if (args.prefetch) prefetch_next_row<T>(args, row, item % chunks);
    const PointChunk chunk(args, row / args.C, item % chunks);
    const T* features = static_cast<const T*>(args.features) + row * args.N;
    T* to = static_cast<T*>(args.output) + row * args.M + chunk.first;
    if (args.stream) {
      gather_row(features, chunk.indices, chunk.count, tile.row);
      stream.copy(to, tile.row, static_cast<size_t>(chunk.count));
    } else {
      gather_row(features, chunk.indices, chunk.count, to);
    }
  }
}

MLUOP_SELECT_BY_SIZE(direct, GatherArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::gather_points_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::gather_points_forward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(packed_kernel, packed, GatherArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(direct_kernel, direct, GatherArgs);

}  // namespace mluop::gather_points_forward::native
#endif
