// Partitions keys (voxels) over tasks. Each key has one owner, which visits the points of its keys in ascending
// order: this makes results bit-identical for any number of tasks.
//
// An owner reads the rows of its points fastest if they are close in memory. Buckets of neighbouring keys are
// therefore ranked by the mean position of their points, and a task owns consecutive ranks. The ranks come from a
// sample of the points; results do not depend on them. Cost: 4 bytes a point, 12 bytes for each bucket and task.
//
// A bucket so large that tasks would be left without work is shared: tasks divide its points. Shared buckets have
// the highest ranks.
//
// Steps, each a launch:
//   1. over the runs of a sample: the operator's kernel calls clear_sample(), then count() for each point
//   2. assign_ranks()
//   3. over chunks of points: the operator's kernel calls rank_chunk() (key_partition-inl.h)
//   4. over ranks, divided by ByCost: the operator's kernel calls visit_owned()
//   5. if there are shared buckets, over chunks: the operator's kernel calls visit_owned() for
//      shared_ranks()
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "team/fit_tile.h"
#include "team/launch.h"

namespace mluop::dynamic_scatter_backward {

// The sample: every step-th run of kRunPoints consecutive points.
struct SampledRuns {
  SampledRuns(int64_t point_count, int task_dim);

  // The points of a run.
  Range points(int64_t run) const {
    const int64_t first = run * step * kRunPoints;
    return {first, std::min(first + kRunPoints, point_count)};
  }

  static constexpr int64_t kRunPoints = 4;
  int64_t point_count;
  int64_t step;
  int64_t count;
  int task_dim;  // tasks of the launch over the runs; each has at least one run
};

// Bucket b holds the keys with key >> shift = b.
struct KeyPartition {
  KeyPartition(Arena& arena, int64_t keys, const SampledRuns& sample);

  // Zeroes the counts of a task; call it before its first count().
  void clear_sample(int task_id);
  void count(int task_id, int64_t key, int64_t run) {
    const int64_t bucket = int64_t{task_id} * bucket_count + (key >> shift);
    ++sample_counts[bucket];
    run_sums[bucket] += run;
  }
  // Ranks the buckets by the counts of the tasks. A bucket above this share of the cost is shared.
  void assign_ranks(Context& context, const SampledRuns& sample, double max_part);
  Range shared_ranks() const { return {owned_count, bucket_count}; }
  // Numbers for the keys of shared buckets, from 0 to shared_keys() - 1.
  int64_t shared_keys() const { return shared_ranks().size() << shift; }
  int64_t shared_index(int64_t key) const {
    const int64_t bucket = key >> shift;
    return ((ranks[bucket] - owned_count) << shift) + key - keys(static_cast<int32_t>(bucket)).begin;
  }
  int64_t max_shared_keys(double max_part) const {
    return std::min(static_cast<int64_t>(1 / max_part), int64_t{bucket_count}) << shift;
  }

  // The keys of a bucket.
  Range keys(int32_t bucket) const {
    return {int64_t{bucket} << shift, std::min((int64_t{bucket} + 1) << shift, key_count)};
  }

  int64_t key_count;
  int shift;
  int32_t bucket_count;
  int32_t owned_count = 0;  // buckets that are not shared
  int sample_task_dim;

  int32_t* sample_counts;   // [sample_task_dim, bucket_count], sampled points; finally row 0 counts all tasks
  int64_t* run_sums;        // [sample_task_dim, bucket_count], sum of their runs; finally row 0 sums all tasks
  int32_t* run_starts;      // [runs + 2], starts of the counting sort that assigns ranks
  int32_t* ranks;           // [bucket_count], rank of each bucket
  int32_t* ranked_buckets;  // [bucket_count], bucket of each rank
  int64_t* cost_before;     // [bucket_count + 1], cost of all buckets of lower rank
};

// Divides the ranks of buckets that are not shared into ranges of equal cost.
struct ByCost {
  const KeyPartition& partition;
  Range operator()(int task_dim, int task_id) const {
    return split_cost(partition.owned_count, task_dim, task_id,
                      [&](int64_t rank) { return partition.cost_before[rank]; });
  }
};

// Points and their keys, in chunks: an owner skips the chunks that contain none of its points.
struct KeyedPoints {
  static constexpr int64_t kChunkPoints = 64;
  static constexpr int32_t kNoKey = -1;
  static constexpr int32_t kNoRank = -1;

  // The lowest and highest rank in a chunk; highest < lowest if no point has a key.
  struct RankBounds {
    int32_t lowest, highest;
  };

  KeyedPoints(Arena& arena, int64_t points, const int32_t* point_keys)
      : point_count(points),
        keys(point_keys),
        ranks(arena.take<int32_t>("ranks of points", {points})),
        chunk_bounds(arena.take<RankBounds>("ranks of chunks", {chunk_count()})) {}

  int64_t chunk_count() const { return ceil_div(point_count, kChunkPoints); }
  Range chunks() const { return {0, chunk_count()}; }
  Range chunk_points(int64_t chunk) const {
    return {chunk * kChunkPoints, std::min((chunk + 1) * kChunkPoints, point_count)};
  }

  int64_t point_count;
  const int32_t* keys;       // [point_count], kNoKey for a point without a key
  int32_t* ranks;            // [point_count], rank of the key's bucket; kNoRank for kNoKey
  RankBounds* chunk_bounds;  // [chunk_count]
};

// Points to visit, in NRAM: the points of a tile and of a chunk whose rows are being prefetched.
struct VisitQueue {
  VisitQueue(Arena& nram, int64_t tile_points)
      : capacity(tile_points + KeyedPoints::kChunkPoints),
        points(nram.take<int32_t>("queued points", {capacity})),
        keys(nram.take<int32_t>("queued keys", {capacity})) {}

  int64_t capacity;
  int32_t* points;
  int32_t* keys;
  int64_t count = 0;
};

// The points of a tile: as many whole chunks as fit NRAM, up to a number beyond which the gain ends. bytes(points)
// is the size of the tile. Throws Failure with ALLOC_FAILED if one chunk does not fit.
template <class Bytes>
int64_t fit_chunks(const Context& context, const Bytes& bytes) {
  constexpr int64_t kMaxChunks = 16;
  constexpr int64_t kPoints = KeyedPoints::kChunkPoints;
  return kPoints * fit_tile(context, kMaxChunks, [&](int64_t chunks) { return bytes(chunks * kPoints); });
}

}  // namespace mluop::dynamic_scatter_backward
