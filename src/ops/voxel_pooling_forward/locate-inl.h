// Voxel pooling forward: converts coordinates to cells. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_VOXEL_POOLING_LOCATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_VOXEL_POOLING_LOCATE_INL_H
#undef MLUOP_VOXEL_POOLING_LOCATE_INL_H
#else
#define MLUOP_VOXEL_POOLING_LOCATE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/voxel_pooling_forward/voxel_pooling_forward.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A vector of points of batch b: range masks, cells (kNoCell for points out of range) and pos_memo.
template <class D>
HWY_INLINE void locate_vector(D d, const Args& args, int32_t b, const int32_t* HWY_RESTRICT geom,
                              int32_t* HWY_RESTRICT cells, int32_t* HWY_RESTRICT memo) {
  hn::Vec<D> x, y, z;
  hn::LoadInterleaved3(d, geom, x, y, z);
  const auto minus_one = hn::Set(d, -1);
  const auto within = [&](hn::Vec<D> coordinate, int32_t bound) HWY_ATTR {
    return hn::And(hn::Gt(coordinate, minus_one), hn::Lt(coordinate, hn::Set(d, bound)));
  };
  const auto in_range =
      hn::And(within(x, args.num_voxel_x), hn::And(within(y, args.num_voxel_y), within(z, args.num_voxel_z)));
  const auto row = hn::Add(hn::Set(d, b * args.num_voxel_y), y);
  const auto cell = hn::Add(hn::Mul(row, hn::Set(d, args.num_voxel_x)), x);
  hn::StoreU(hn::IfThenElse(in_range, cell, hn::Set(d, kNoCell)), d, cells);
  hn::StoreInterleaved3(hn::IfThenElse(in_range, hn::Set(d, b), minus_one), hn::IfThenElse(in_range, y, minus_one),
                        hn::IfThenElse(in_range, x, minus_one), d, memo);
}

// Writes cells and pos_memo of the points [point, point + count) of the call, which may span batches. geom, cells
// and memo begin at `point`.
inline void locate_points(const Args& args, int64_t point, int64_t count, const int32_t* geom, int32_t* cells,
                          int32_t* memo) {
  const hn::ScalableTag<int32_t> d;
  constexpr size_t kMaxLanes = hn::MaxLanes(d);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  while (count > 0) {
    const auto b = static_cast<int32_t>(point / args.num_points);
    const int64_t in_batch = std::min(count, int64_t{b + 1} * args.num_points - point);
    int64_t i = 0;
    for (; i + lanes <= in_batch; i += lanes) {
      locate_vector(d, args, b, geom + i * 3, cells + i, memo + i * 3);
    }
    if (i < in_batch) {
      // The rest goes through a padded copy, so that no vector crosses the end of a tensor.
      const auto rest = static_cast<size_t>(in_batch - i);
      int32_t padded_geom[3 * kMaxLanes] = {}, padded_cells[kMaxLanes], padded_memo[3 * kMaxLanes];
      std::memcpy(padded_geom, geom + i * 3, rest * 3 * sizeof(int32_t));
      locate_vector(d, args, b, padded_geom, padded_cells, padded_memo);
      std::memcpy(cells + i, padded_cells, rest * sizeof(int32_t));
      std::memcpy(memo + i * 3, padded_memo, rest * 3 * sizeof(int32_t));
    }
    point += in_batch;
    geom += in_batch * 3;
    cells += in_batch;
    memo += in_batch * 3;
    count -= in_batch;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#endif  // include guard
