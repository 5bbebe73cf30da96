// The vectorized steps of key_partition.h. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_DYNAMIC_SCATTER_BACKWARD_KEY_PARTITION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_DYNAMIC_SCATTER_BACKWARD_KEY_PARTITION_INL_H
#undef MLUOP_DYNAMIC_SCATTER_BACKWARD_KEY_PARTITION_INL_H
#else
#define MLUOP_DYNAMIC_SCATTER_BACKWARD_KEY_PARTITION_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "ops/dynamic_scatter_backward/key_partition.h"
#include "primitives/simd/select_items-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Writes the ranks of the points of a chunk, whose keys are known, and the bounds of the ranks.
inline void rank_chunk(const KeyPartition& partition, const KeyedPoints& points, int64_t chunk) {
  const hn::CappedTag<int32_t, KeyedPoints::kChunkPoints> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Range range = points.chunk_points(chunk);
  const auto no_rank = hn::Set(d, KeyedPoints::kNoRank);
  // Compared as unsigned numbers: kNoRank is the highest.
  auto lowest = hn::Set(du, INT32_MAX);
  auto highest = no_rank;
  int64_t i = range.begin;
  for (; i + lanes <= range.end; i += lanes) {
    const auto key = hn::LoadU(d, points.keys + i);
    const auto no_key = hn::Lt(key, hn::Zero(d));
    auto rank = no_rank;
    if (!hn::AllTrue(d, no_key)) {
      const auto bucket = hn::IfThenZeroElse(no_key, hn::ShiftRightSame(key, partition.shift));
      rank = hn::IfThenElse(no_key, no_rank, hn::GatherIndex(d, partition.ranks, bucket));
    }
    hn::StoreU(rank, d, points.ranks + i);
    lowest = hn::Min(lowest, hn::BitCast(du, rank));
    highest = hn::Max(highest, rank);
  }
  KeyedPoints::RankBounds bounds{static_cast<int32_t>(hn::GetLane(hn::MinOfLanes(du, lowest))),
                                 hn::GetLane(hn::MaxOfLanes(d, highest))};
  for (; i < range.end; ++i) {
    const int32_t key = points.keys[i];
    points.ranks[i] = key == KeyedPoints::kNoKey ? KeyedPoints::kNoRank : partition.ranks[key >> partition.shift];
    if (key == KeyedPoints::kNoKey) continue;
    bounds = {std::min(bounds.lowest, points.ranks[i]), std::max(bounds.highest, points.ranks[i])};
  }
  points.chunk_bounds[chunk] = bounds;
}

// Appends the points of a chunk that have one of these ranks.
HWY_INLINE void enqueue_chunk(const KeyedPoints& points, int64_t chunk, Range ranks, VisitQueue& queue) {
  const auto is_owned = [&](auto d, int64_t point) HWY_ATTR {
    const auto rank = hn::LoadU(d, points.ranks + point);
    return hn::AndNot(hn::Lt(rank, hn::Set(d, static_cast<int32_t>(ranks.begin))),
                      hn::Lt(rank, hn::Set(d, static_cast<int32_t>(ranks.end))));
  };
  const Range range = points.chunk_points(chunk);
  const int64_t end = queue.count + mluop::HWY_NAMESPACE::select_items(range.begin, range.end, is_owned,
                                                                       queue.points + queue.count);
  for (; queue.count < end; ++queue.count) queue.keys[queue.count] = points.keys[queue.points[queue.count]];
}

// Takes points out of the queue and visits them, except the last `remaining`.
template <class Visitor>
HWY_INLINE void drain(const Visitor& visitor, int64_t remaining, VisitQueue& queue) {
  const int64_t count = queue.count - remaining;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t next = i + visitor.lookahead;
    if (next < queue.count) visitor.prefetch(queue.points[next], queue.keys[next]);
    visitor.visit(queue.points[i], queue.keys[i]);
  }
  std::copy_n(queue.points + count, remaining, queue.points);
  std::copy_n(queue.keys + count, remaining, queue.keys);
  queue.count = remaining;
}

// Calls visitor.visit(point, key) for the points of these chunks whose bucket has one of these ranks, in ascending
// order, and visitor.prefetch(point, key) visitor.lookahead visits earlier; 1 <= lookahead <= kChunkPoints.
template <class Visitor>
HWY_INLINE void visit_owned(const KeyedPoints& points, Range chunks, Range ranks, const Visitor& visitor,
                            VisitQueue& queue) {
  for (int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
    const KeyedPoints::RankBounds& bounds = points.chunk_bounds[chunk];
    if (bounds.lowest >= ranks.end || bounds.highest < ranks.begin) continue;
    if (queue.count + KeyedPoints::kChunkPoints > queue.capacity) drain(visitor, visitor.lookahead, queue);
    enqueue_chunk(points, chunk, ranks, queue);
  }
  drain(visitor, 0, queue);
}

// Number of rows of `row_bytes` bytes to prefetch ahead of their use.
inline int64_t row_lookahead(int64_t row_bytes) {
  constexpr int64_t kBytes = 5 << 10;
  return std::clamp<int64_t>(kBytes / row_bytes, 1, KeyedPoints::kChunkPoints);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#endif  // include guard
