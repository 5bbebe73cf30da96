#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/stack_group_points/stack_group_points_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/stack_group_points/stack_group_points_native_kernels.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::stack_group_points::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_transposed_rows;
using mluop::HWY_NAMESPACE::StreamWriter;

// Stores the elements of a column of lanes, each with kPacked<T> channels, to as many rows.
template <class D>
HWY_INLINE void store_column(D d, hn::Vec<D> column, float* to, int64_t) {
  hn::StoreU(column, d, to);
}
template <class D>
HWY_INLINE void store_column(D, hn::Vec<D> column, Half* to, int64_t stride) {
  const auto lanes = hn::BitCast(hn::RebindToUnsigned<D>(), column);
  const hn::Rebind<uint16_t, D> du;
  auto* const halves = reinterpret_cast<uint16_t*>(to);
  hn::StoreU(hn::TruncateTo(du, lanes), du, halves);
  hn::StoreU(hn::TruncateTo(du, hn::ShiftRight<16>(lanes)), du, halves + stride);
}

// Transposes a square: the channels from c on of the rows at `rows`.
template <class D, class T>
HWY_NOINLINE void transpose_square(D d, const T* const* rows, int64_t c, T* to, int64_t stride) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  hn::Vec<D> columns[kLanes];
  load_transposed_rows(
      d, [=](int64_t row) { return rows[row] + c; }, columns);
  HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
    store_column(d, columns[i], to + i * kPacked<T> * stride, stride);
  }
}

// Transposes `channels` channels of the rows of a tile, by squares of at most kSquare lanes. The last square of
// channels overlaps the previous one. T, here and below: an element type.
template <size_t kSquare, class T>
HWY_INLINE void transpose_rows(const GroupTile<T>& tile, int64_t samples, int64_t channels) {
  const hn::CappedTag<float, kSquare> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr int64_t kChannels = kLanes * kPacked<T>;
  if (channels >= kChannels) {
    for (int64_t s = 0; s < samples; s += kLanes) {
      for (int64_t c = 0; c < channels; c += kChannels) {
        const int64_t first = std::min(c, channels - kChannels);
        transpose_square(d, tile.rows + s, first, tile.columns + first * tile.stride + s, tile.stride);
      }
    }
  } else if constexpr (kSquare > 4) {
    transpose_rows<4>(tile, samples, channels);
  } else {
    for (int64_t s = 0; s < samples; ++s) {
      for (int64_t c = 0; c < channels; ++c) tile.columns[c * tile.stride + s] = tile.rows[s][c];
    }
  }
}

// Copies the columns to rows of the output, S elements apart. Rows that are consecutive in both are copied
// together.
template <class T>
HWY_INLINE void write_columns(const GroupTile<T>& tile, int64_t samples, int64_t channels, int64_t S, T* to,
                              const StreamWriter* stream) {
  const bool is_one_run = samples == S && samples == tile.stride;
  const int64_t runs = is_one_run ? 1 : channels, length = is_one_run ? channels * samples : samples;
  for (int64_t run = 0; run < runs; ++run) {
    T* const out = to + run * S;
    const T* const from = tile.columns + run * tile.stride;
    if (stream != nullptr) {
      stream->copy(out, from, static_cast<size_t>(length));
    } else {
      std::memcpy(out, from, static_cast<size_t>(length) * sizeof(T));
    }
  }
}

template <class T>
void group(const GroupArgs& args, int64_t begin, int64_t end, Task& task) {
  const GroupTile<T> tile(task.nram, args.range_channels, args.range_samples);
  const StreamWriter stream;
  const int64_t S = args.groups.samples, channel_ranges = args.channel_ranges();
  const int64_t items_per_group = args.sample_ranges() * channel_ranges;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t m = item / items_per_group;
    const int64_t first_sample = item % items_per_group / channel_ranges * args.range_samples;
    const int64_t first_channel = item % channel_ranges * args.range_channels;
    const int64_t samples = std::min(args.range_samples, S - first_sample);
    const int64_t channels = std::min(args.range_channels, args.C - first_channel);
    const int64_t cloud = args.group_starts.cloud_of(m);
    const T* const features =
        static_cast<const T*>(args.features) + args.feature_starts.starts[cloud] * args.C + first_channel;
    const int32_t* const indices = args.groups.indices + m * S + first_sample;
    for (int64_t s = 0; s < samples; ++s) tile.rows[s] = features + indices[s] * args.C;
    std::fill(tile.rows + samples, tile.rows + tile.stride, tile.rows[samples - 1]);
    transpose_rows<GroupTile<T>::kMaxLanes>(tile, samples, channels);
    write_columns(tile, samples, channels, S,
                  static_cast<T*>(args.output) + (m * args.C + first_channel) * S + first_sample,
                  args.stream ? &stream : nullptr);
  }
}

MLUOP_SELECT_BY_SIZE(group, GroupArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::stack_group_points::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::stack_group_points::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(group_kernel, group, GroupArgs);

}  // namespace mluop::stack_group_points::native
#endif
