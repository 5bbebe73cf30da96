#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/device/pool_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/device/kernels.h"
#include "primitives/prefetch.h"
#include "team/row_guard.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Points from a prefetch to the use of the row.
constexpr int64_t kLookahead = 12;

// One vector of points of batch b: transposes the coordinates, masks the points out of range, and computes
// pos_memo and the offsets.
template <class D>
HWY_INLINE void locate_vector(D d, const Args& call, int32_t b, const int32_t* HWY_RESTRICT geom_xyz,
                              int32_t* HWY_RESTRICT pos_memo, int32_t* HWY_RESTRICT offsets) {
  hn::Vec<D> x, y, z;
  hn::LoadInterleaved3(d, geom_xyz, x, y, z);
  const auto minus_one = hn::Set(d, -1);
  const auto within = [&](hn::Vec<D> coordinate, int32_t bound) HWY_ATTR {
    return hn::And(hn::Gt(coordinate, minus_one), hn::Lt(coordinate, hn::Set(d, bound)));
  };
  const auto in_range =
      hn::And(within(x, call.num_voxel_x), hn::And(within(y, call.num_voxel_y), within(z, call.num_voxel_z)));
  const auto row = hn::Add(hn::Set(d, b * call.num_voxel_y), y);
  const auto cell = hn::Add(hn::Mul(row, hn::Set(d, call.num_voxel_x)), x);
  const auto offset = hn::Mul(cell, hn::Set(d, call.num_channels));
  hn::StoreU(hn::IfThenElse(in_range, offset, hn::Set(d, kOutOfRange)), d, offsets);
  hn::StoreInterleaved3(hn::IfThenElse(in_range, hn::Set(d, b), minus_one), hn::IfThenElse(in_range, y, minus_one),
                        hn::IfThenElse(in_range, x, minus_one), d, pos_memo);
}

// `count` points of batch b.
void locate_points_of_batch(const Args& call, int32_t b, int64_t count, const int32_t* geom_xyz, int32_t* pos_memo,
                            int32_t* offsets) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    locate_vector(d, call, b, geom_xyz + i * 3, pos_memo + i * 3, offsets + i);
  const hn::CappedTag<int32_t, 1> one;
  for (; i < count; ++i) locate_vector(one, call, b, geom_xyz + i * 3, pos_memo + i * 3, offsets + i);
}

// pos_memo and offsets of the points [begin, begin + count), which may span batches.
void locate_tile(const Args& call, int64_t begin, int64_t count, const Tile& tile) {
  for (int64_t i = 0; i < count;) {
    const int64_t b = (begin + i) / call.num_points;
    const int64_t in_batch = std::min(count - i, (b + 1) * call.num_points - (begin + i));
    locate_points_of_batch(call, static_cast<int32_t>(b), in_batch, tile.geom_xyz + i * 3, tile.pos_memo + i * 3,
                           tile.offsets + i);
    i += in_batch;
  }
}

// Adds the feature row of a point to the output row at `offset`, by chunks of channels.
HWY_INLINE void add_point(const Args& call, int64_t point, int32_t offset, int64_t chunk_channels,
                          const Tile& tile, Task& task) {
  const float* features = call.input_features + point * call.num_channels;
  float* output = call.output_features + offset;
  for (int64_t c = 0; c < call.num_channels; c += chunk_channels) {
    const int64_t channels = std::min(chunk_channels, call.num_channels - c);
    load(task, tile.features, features + c, channels * int64_t{sizeof(float)});
    const RowGuard guard(task, output + c, channels);
    voxel_pooling_forward::HWY_NAMESPACE::add_row<false>(output + c, tile.features, channels);
  }
}

HWY_INLINE void prefetch_point(const Args& call, int64_t point, int32_t offset) {
  if (offset == kOutOfRange) return;
  prefetch_row<Use::kReadOnce>(call.input_features + point * call.num_channels, call.row_bytes());
  prefetch_row<Use::kWrite>(call.output_features + offset, call.row_bytes());
}

void pool(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const Tile tile(task.nram, args.tile_points);
  const int64_t chunk_channels = Tile::chunk_channels(args.tile_points);
  for (int64_t first = begin; first < end; first += args.tile_points) {
    const int64_t count = std::min(args.tile_points, end - first);
    const int64_t bytes = count * 3 * int64_t{sizeof(int32_t)};
    ++task.statistics->tiles;
    load(task, tile.geom_xyz, call.geom_xyz + first * 3, bytes);
    locate_tile(call, first, count, tile);
    store(task, call.pos_memo + first * 3, tile.pos_memo, bytes);
    for (int64_t i = 0; i < std::min(kLookahead, count); ++i) prefetch_point(call, first + i, tile.offsets[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (i + kLookahead < count) prefetch_point(call, first + i + kLookahead, tile.offsets[i + kLookahead]);
      if (tile.offsets[i] != kOutOfRange) add_point(call, first + i, tile.offsets[i], chunk_channels, tile, task);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::device {

HWY_EXPORT(pool);

RangeKernel<PoolArgs> pool_kernel() { return MLUOP_DISPATCH(pool); }

}  // namespace mluop::voxel_pooling_forward::device
#endif
