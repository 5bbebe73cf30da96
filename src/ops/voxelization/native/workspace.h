// Voxelization: the buffers of the native algorithm.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "team/split.h"

namespace mluop::voxelization::native {

// A point whose cell is not a voxel of the output, or that exceeds max_points; as a key: that is out of range.
inline constexpr int64_t kNone = -1;

// What the algorithm knows of a point, in the 8 bytes that held its key.
struct Role {
  // The first point of a voxel of `count` points; `voxel` is its number.
  static int64_t first(int64_t count, int64_t voxel) { return pack(~count, voxel); }
  // Another point of the voxel of `first_point`, at `position` in it.
  static int64_t other(int64_t first_point, int64_t position) { return pack(first_point, position); }

  static bool is_first(int64_t role) { return role < kNone; }
  static bool is_other(int64_t role) { return role >= 0; }
  static int64_t count(int64_t role) { return ~(role >> 32); }
  static int64_t first_point(int64_t role) { return role >> 32; }
  // The voxel of a first point, or the position of another.
  static int64_t number(int64_t role) { return role & INT32_MAX; }

 private:
  static int64_t pack(int64_t high, int64_t low) {
    return static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | static_cast<uint64_t>(low));
  }
};

// The sizes that follow from N.
struct Sizes {
  static constexpr int64_t kChunkPoints = 4096;
  static constexpr int64_t kMaxBuckets = 256;
  // About as many points as a bucket has: its table is then in L1.
  static constexpr int64_t kBucketPoints = 512;

  explicit Sizes(int64_t N)
      : points(N),
        chunks(ceil_div(N, kChunkPoints)),
        buckets(std::clamp<int64_t>(N / kBucketPoints, 1, kMaxBuckets)) {}

  Range chunk(int64_t i) const { return {i * kChunkPoints, std::min((i + 1) * kChunkPoints, points)}; }

  int64_t points, chunks, buckets;
};

struct Buffers {
  Buffers(Arena& workspace, const Sizes& sizes)
      : roles(workspace.take<int64_t>("roles", {sizes.points})),
        keys(workspace.take<int64_t>("keys", {sizes.points})),
        indices(workspace.take<int32_t>("indices", {sizes.points})),
        counts(workspace.take<int32_t>("counts", {sizes.points})),
        slots(workspace.take<int32_t>("slots", {sizes.points, 2})),
        positions(workspace.take<int32_t>("positions", {sizes.chunks, sizes.buckets})),
        bucket_starts(workspace.take<int64_t>("bucket starts", {sizes.buckets + 1})),
        first_counts(workspace.take<int64_t>("first counts", {sizes.chunks})) {}

  int64_t* roles;    // [points]: the key of each point; then its role
  int64_t* keys;     // [points], in the order of buckets
  int32_t* indices;  // [points], of the points in the order of buckets
  int32_t* counts;   // [points], in the order of buckets: the points of the voxel of a first point; 0 for another
  int32_t* slots;    // [points, 2]: the hash tables of the buckets, twice as many slots as points
  int32_t* positions;      // [chunks, buckets]: points of a bucket in a chunk; then those in the chunks before
  int64_t* bucket_starts;  // [buckets + 1]
  int64_t* first_counts;   // [chunks]: first points in a chunk; then those in the chunks before
};

}  // namespace mluop::voxelization::native
