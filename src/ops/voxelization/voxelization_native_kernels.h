// Voxelization, native algorithm: the roles of points, buffers, and range kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/voxelization/voxelization.h"
#include "team/launch.h"

namespace mluop::voxelization::native {

// The role of a point whose cell is not a voxel of the output, or that exceeds max_points; the key of a point out
// of range.
inline constexpr int64_t kNone = -1;

// The role of a point, stored in the 8 bytes that held its key.
struct Role {
  // The first point of a voxel of `count` points; `voxel`: its number.
  static int64_t first(int64_t count, int64_t voxel) { return pack(~count, voxel); }
  // Another point of the voxel of `first_point`, at `position` in the voxel.
  static int64_t other(int64_t first_point, int64_t position) { return pack(first_point, position); }

  static bool is_first(int64_t role) { return role < kNone; }
  static bool is_other(int64_t role) { return role >= 0; }
  static int64_t count(int64_t role) { return ~(role >> 32); }
  static int64_t first_point(int64_t role) { return role >> 32; }
  // The voxel of a first point, or the position of another point.
  static int64_t number(int64_t role) { return role & INT32_MAX; }

 private:
  static int64_t pack(int64_t high, int64_t low) {
    return static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | static_cast<uint64_t>(low));
  }
};

// Sizes that depend only on N.
struct Sizes {
  static constexpr int64_t kChunkPoints = 4096;
  static constexpr int64_t kMaxBuckets = 256;
  // Approximate number of points of a bucket, so that its table is in L1.
  static constexpr int64_t kBucketPoints = 512;

  explicit Sizes(int64_t N)
      : points(N),
        chunks(ceil_div(N, kChunkPoints)),
        buckets(std::clamp<int64_t>(N / kBucketPoints, 1, kMaxBuckets)) {}

  Range points_of(int64_t chunk) const {
    return {chunk * kChunkPoints, std::min((chunk + 1) * kChunkPoints, points)};
  }

  int64_t points, chunks, buckets;
};

struct Workspace {
  Workspace(Arena& arena, const Sizes& sizes)
      : roles(arena.take<int64_t>("roles", {sizes.points})),
        keys(arena.take<int64_t>("keys", {sizes.points})),
        indices(arena.take<int32_t>("indices", {sizes.points})),
        counts(arena.take<int32_t>("counts", {sizes.points})),
        slots(arena.take<int32_t>("slots", {sizes.points, 2})),
        positions(arena.take<int32_t>("positions", {sizes.chunks, sizes.buckets})),
        bucket_starts(arena.take<int64_t>("bucket starts", {sizes.buckets + 1})),
        first_counts(arena.take<int64_t>("first counts", {sizes.chunks})) {}

  int64_t* roles;    // [points]: the key of each point; then its role
  int64_t* keys;     // [points], in the order of buckets
  int32_t* indices;  // [points], indices of the points in the order of buckets
  int32_t*
      counts;  // [points], in the order of buckets: number of points of the voxel of a first point; otherwise 0
  int32_t* slots;          // [points, 2]: the hash tables of the buckets, twice as many slots as points
  int32_t* positions;      // [chunks, buckets]: points of a bucket in a chunk; then in all chunks before
  int64_t* bucket_starts;  // [buckets + 1]
  int64_t* first_counts;   // [chunks]: first points in a chunk; then in all chunks before
};

// The hash of a key: its upper half determines the bucket, its lower half the slot in the table of the bucket.
inline uint64_t hash_of(int64_t key) {
  // The finalizer of MurmurHash3.
  auto hash = static_cast<uint64_t>(key);
  hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCDU;
  hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53U;
  return hash ^ hash >> 33;
}
inline int64_t bucket_of(uint64_t hash, int64_t buckets) {
  return static_cast<int64_t>((hash >> 32) * static_cast<uint64_t>(buckets) >> 32);
}
inline int64_t slot_of(uint64_t hash, int64_t slots) {
  return static_cast<int64_t>((hash & UINT32_MAX) * static_cast<uint64_t>(slots) >> 32);
}

// The kernels, in the order of their launches. Each reads results of earlier kernels.
struct KernelArgs : Args {
  const Sizes& sizes;
  const Workspace& workspace;
};

// Work items: chunks. Writes the keys of the points, and the sizes of the buckets in each chunk.
RangeKernel<KernelArgs> locate_kernel();

// Work items: buckets. Counts the points of the bucket in all chunks before each chunk; bucket_starts[bucket + 1]
// = total.
void count_points(const KernelArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: chunks. Writes the keys and indices of the points in the order of buckets.
void partition_points(const KernelArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: buckets. Writes the role of each point, without the number of its voxel.
void match_points(const KernelArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: chunks. Counts the first points.
void count_first_points(const KernelArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: chunks. Numbers the voxels of the first points; writes their coors and num_points_per_voxel, their
// first points, and the zeros past their points.
void number_voxels(const KernelArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: chunks. Writes all points that are not first points.
void copy_points(const KernelArgs& args, int64_t begin, int64_t end, Task& task);

}  // namespace mluop::voxelization::native
